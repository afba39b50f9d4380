// SPDX-License-Identifier: Apache-2.0
// work.js - a busy JavaScript program for the tests: loops, recursion, classes, closures, regular
// expressions, sorting with a callback, promises. Usage: work.js [SECONDS]
// Prints `ready` when it has run each once.
'use strict';

function grind(seed, turns) {
	for (let i = 0; i < turns; i++) seed = (Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d) + i) | 0;
	return seed;
}

function shaft(gears, seed) {
	return gears === 0 ? grind(seed, 300000) : 1 + shaft(gears - 1, seed);
}

function ackermann(m, n) {
	if (m === 0) return n + 1;
	return ackermann(m - 1, n === 0 ? 1 : ackermann(m, n - 1));
}

class Sack {
	#grains = new Map();

	pour(count, grain) {
		for (let i = 0; i < count; i++) this.#grains.set(i & 1023, grain + i);
	}

	weigh() {
		let total = 0;
		for (const grain of this.#grains.values()) total += grain;
		return total;
	}
}

const byRest = (m) => (a, b) => (a % m) - (b % m);

function label(seed) {
	return `bag-${seed}-of-rye`.replace(/([a-z]+)-(-?\d+)/, (_, word, n) => word + n).length;
}

async function deliver(seed) {
	await null;
	const first = grind(seed, 200000);
	await new Promise((done) => setImmediate(done));
	return first + grind(first, 200000);
}

async function day(seed) {
	const sack = new Sack();
	const loads = Array.from({ length: 2000 }, (_, i) => (i * 7919) % 2003);

	sack.pour(50000, seed & 255);
	loads.sort(byRest(97));
	for (let i = 0; i < 2000; i++) seed += label(i);
	for (let i = 0; i < 300; i++) seed += ackermann(2, 20);
	seed = (seed + sack.weigh() + loads[7]) | 0;
	return (shaft(40, seed) + (await deliver(seed))) | 0;
}

async function main() {
	const end = Date.now() + Number(process.argv[2] || 60) * 1000;
	let seed = await day(1);

	console.log('ready');
	while (Date.now() < end) seed = await day(seed);
	process.exitCode = seed === 0.5 ? 1 : 0;
}

main();
