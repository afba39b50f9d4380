// SPDX-License-Identifier: Apache-2.0
// market.js - the other busy program for Node: what real ones are full of, where work.js is plain.
// Sorting with comparators, closures, classes, generators, promises, regular expressions, JSON, maps,
// big numbers, exceptions from deep down, WebAssembly, and native leaves (zlib, hashes, buffers).
// Usage: market.js [SECONDS]. Prints `ready` when it has run each once.
'use strict';
const zlib = require('zlib');
const crypto = require('crypto');

function sortByPrice(day) {
	const goods = [];
	for (let i = 0; i < 3000; i++)
		goods.push({ name: 'good' + ((i * 7919 + day) % 100003), price: (i * 31 + day) % 977 });
	goods.sort((a, b) => a.price - b.price || (a.name < b.name ? -1 : 1));
	return goods[0].price;
}

function countChains(day) {
	return Array.from({ length: 20000 }, (_, i) => i ^ day)
		.filter((x) => x % 3 === 0)
		.map(String)
		.reduce((sum, s) => sum + s.length, 0);
}

function matchLabels(day) {
	const label = /^([a-z]+)-(\d{2,5})(?:\/(\w+))?$/;
	let found = 0;
	for (let i = 0; i < 2000; i++)
		if (label.test(`barley-${day + i + 100}/sack${i}`))
			found++;
	return found;
}

function keepBooks(day) {
	const book = new Map();
	const plain = {};
	for (let i = 0; i < 4000; i++) {
		const key = 'customer' + ((i * 31 + day) % 500);
		book.set(key, (book.get(key) || 0) + i);
		plain[key] = book.get(key);
	}
	return JSON.parse(JSON.stringify(plain)).customer1 + book.size;
}

function countCoins(day) {
	let coins = BigInt(day + 3);
	for (let i = 0; i < 40; i++)
		coins = (coins * (coins + 10n)) % (1n << 700n);
	return Number(coins & 255n);
}

function haggle(depth, price) {
	if (depth === 0 && price % 2 === 0)
		throw new Error('too dear: ' + price);
	return depth === 0 ? price : haggle(depth - 1, price) + 1;
}

function haggleAll() {
	let agreed = 0;
	for (let i = 0; i < 60; i++) {
		try {
			agreed += haggle(20, i);
		} catch (e) {
			agreed -= e.message.length;
		}
	}
	return agreed;
}

class Stall {
	constructor(size) {
		this.size = size;
	}
	*goods() {
		for (let i = 0; i < this.size; i++)
			yield i;
	}
	weigh() {
		let sum = 0;
		for (const good of this.goods())
			sum += good;
		return sum;
	}
}

class BigStall extends Stall {
	weigh() {
		return super.weigh() * 2;
	}
}

function weighStalls(day) {
	return [new Stall(2000), new BigStall(1000 + (day % 100))].reduce((s, stall) => s + stall.weigh(), 0);
}

function packGoods(day) {
	const goods = Buffer.alloc(60000, (i) => i);
	for (let i = 0; i < goods.length; i++)
		goods[i] = (i * i / 7 + day) & 255;
	return zlib.deflateSync(goods).length + crypto.createHash('sha256').update(goods).digest()[0];
}

// (module (func (export "sum") (param i32) (result i32) a loop that adds up and multiplies))
const weighing = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([
	0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f, 3, 2, 1, 0, 7, 7, 1, 3,
	0x73, 0x75, 0x6d, 0, 0, 10, 30, 1, 28, 1, 1, 0x7f, 3, 0x40, 0x20, 1, 0x41, 31, 0x6c, 0x20, 0,
	0x6a, 0x21, 1, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1, 0x0b]))).exports;

async function deliver(day) {
	let sum = 0;
	for (let i = 0; i < 200; i++)
		sum += await Promise.resolve(i ^ day);
	return sum;
}

const stalls = [sortByPrice, countChains, matchLabels, keepBooks, countCoins, haggleAll, weighStalls,
	packGoods, (day) => weighing.sum(200000 + day)];

async function main() {
	const end = Date.now() + 1000 * (Number(process.argv[2]) || 60);
	let sold = 0;
	for (let day = 1; Date.now() < end; day++) {
		for (const stall of stalls)
			sold += stall(day);
		sold += await deliver(day);
		if (day === 1)
			console.log('ready');
	}
	return sold;
}

main();
