// SPDX-License-Identifier: Apache-2.0
// data.js - the profile as columns of numbers, read in the order in which sink/html.c wrote it.
// One call tree holds all stacks; node 0 is the root, and a node stands before all that it calls.

const KIND = { native: 0, kernel: 1, jit: 2, inlined: 3, language: 4, mark: 5, label: 6 };
const KEYS = ['container', 'pod', 'namespace', 'image', 'unit', 'comm', 'pid', 'tid', 'cpu'];
const SUFFIX = ['', '_[k]', '_[j]', '_[i]', '', '', ''];

async function unpack(text) {
	const letters = atob(text), packed = new Uint8Array(letters.length);
	for (let i = 0; i < packed.length; i++) packed[i] = letters.charCodeAt(i);
	const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(plain).arrayBuffer());
}

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	number() {
		const bytes = this.bytes;
		let byte = bytes[this.at++], value = byte & 127, unit = 128;
		for (; byte & 128; unit *= 128) {
			byte = bytes[this.at++];
			value += (byte & 127) * unit;
		}
		return value;
	}

	delta() {
		const value = this.number();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}

	column(length, Type) {
		const column = new Type(length);
		for (let i = 0; i < length; i++) column[i] = this.number();
		return column;
	}

	// Each number is told by its distance from the one before it.
	steps(length, Type) {
		const column = new Type(length);
		for (let i = 0, value = 0; i < length; i++) column[i] = value += this.delta();
		return column;
	}

	texts() {
		const size = this.number();
		const text = new TextDecoder().decode(this.bytes.subarray(this.at, this.at += size));
		return text.split('\n').slice(0, -1);
	}
}

function read_nodes(r) {
	const len = r.number() + 1;
	const up = new Uint32Array(len), fn = new Int32Array(len);
	const parent = new Int32Array(len), depth = new Uint16Array(len);
	const path = [0];
	for (let i = 1; i < len; i++) up[i] = r.number();
	for (let i = 1; i < len; i++) fn[i] = r.number();
	fn[0] = -1;
	for (let i = 1; i < len; i++) {
		depth[i] = depth[i - 1] + 1 - up[i];
		parent[i] = path[depth[i] - 1];
		path[depth[i]] = i;
	}
	return { len, fn, parent, depth };
}

// The well-known keys, then those of the profile's own.
function keys_of(side) {
	return [...KEYS, ...(side.keys || [])];
}

function read_side(r, side) {
	const labels_len = r.number(), labels = {};
	for (const key of keys_of(side)) labels[key] = r.column(labels_len, Uint32Array);
	const len = r.number();
	const node = r.steps(len, Int32Array);
	const label = r.column(len, Uint32Array), value = r.column(len, Float64Array);
	const kind = side.kinds ? r.column(len, Uint8Array) : null;
	const ticks_len = r.number();
	const time = r.steps(ticks_len, Float64Array), sample = r.column(ticks_len, Uint32Array);
	const all = { value, kind, ticks: { len: ticks_len, time, sample } };
	return { ...side, labels_len, labels, len, node, label, all };
}

// { words, texts, functions: {len, text, module, file, kind}, nodes, sides }
async function read_profile() {
	const words = JSON.parse(document.getElementById('words').textContent);
	const r = new Reader(await unpack(document.getElementById('data').textContent.trim()));
	const texts = r.texts(), len = r.number();
	const functions = {
		len,
		text: r.column(len, Uint32Array),
		module: r.column(len, Uint32Array),
		file: r.column(len, Uint32Array),
		kind: r.column(len, Uint8Array),
	};
	const nodes = read_nodes(r);
	const sides = words.sides.map((side) => read_side(r, side));
	for (const side of sides) open_side(side, texts, sides.length > 1 ? 0 : first_kind(side));
	return { words, texts, functions, nodes, sides };
}
