// SPDX-License-Identifier: Apache-2.0
// stalled.js - an event loop that a dependency blocks, from 8 s after its start.
const stalls = Date.now() + 8000;
const cell = new Int32Array(new SharedArrayBuffer(4));
let sum = 0;

function work() {
	for (let i = 0; i < 2e6; i++)
		sum += i;
}

// Synchronous, where it should not be.
function templateOf() {
	if (Date.now() > stalls)
		Atomics.wait(cell, 0, 0, 600000);
}

function route() {
	work();
	templateOf();
	setTimeout(route, 1);
}

console.log("ready");
route();
