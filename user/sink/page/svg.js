// SPDX-License-Identifier: Apache-2.0
// svg.js - search and zoom for the flame graph that sink/svg.c draws. A box that is clicked becomes as
// wide as the graph; what is below it stays, pale, what is beside it goes. Ctrl-F or F3 asks for a
// regular expression; Escape goes back to all. Everything it knows it reads from the drawing.
'use strict';
(function () {
	const SIDE = 10, CHAR = 7, WIDTH_MIN = 0.1;
	const svg = document.documentElement;
	const all = Number(svg.dataset.all), unit = svg.dataset.unit;
	const full = svg.viewBox.baseVal.width - 2 * SIDE;
	const by = (id) => document.getElementById(id);
	const details = by('details'), matched = by('matched'), reset = by('reset'), search = by('search');
	let boxes = [], found = null, zoomed = null, pattern = '';

	// What was drawn, in order: x and width of the whole graph; a box stands before what it calls.
	function read() {
		boxes = Array.from(by('boxes').children, (g) => {
			const rect = g.children[1], tip = g.children[0].textContent;
			return {
				g, rect, text: g.children[2], tip,
				module: g.dataset.module ? ', ' + g.dataset.module : '',
				name: tip.slice(0, tip.lastIndexOf(' (')),
				x: Number(rect.getAttribute('x')) - SIDE,
				width: Number(rect.getAttribute('width')),
				y: Number(rect.getAttribute('y')),
				fill: rect.getAttribute('fill'),
			};
		});
		for (const box of boxes) box.g.box = box;
	}

	function label(box, width) {
		const room = Math.floor((width - 6) / CHAR);
		const { name } = box;
		if (room < 3) return '';
		return name.length <= room ? name : name.slice(0, room - 2) + '..';
	}

	function place(box, x, width) {
		const shown = width >= WIDTH_MIN && x < full && x + width > 0;
		box.g.classList.toggle('off', !shown);
		if (!shown) return;
		const left = Math.max(x, 0), right = Math.min(x + width, full);
		box.rect.setAttribute('x', (SIDE + left).toFixed(1));
		box.rect.setAttribute('width', (right - left).toFixed(1));
		box.text.setAttribute('x', (SIDE + left + 3).toFixed(1));
		box.text.textContent = label(box, right - left);
	}

	// Boxes are drawn to a tenth of a pixel: so much may one that is called stick out.
	function zoom(to) {
		const scale = full / to.width, slack = 0.11;
		for (const box of boxes) {
			const inside = box.x >= to.x - slack && box.x + box.width <= to.x + to.width + slack;
			const below = box.y > to.y && box.x <= to.x + slack &&
				box.x + box.width >= to.x + to.width - slack;
			const beside = !below && (!inside || box.y > to.y);
			box.g.classList.toggle('above', below);
			if (beside) box.g.classList.add('off');
			else place(box, (box.x - to.x) * scale, box.width * scale);
		}
		zoomed = to;
		reset.classList.toggle('off', to === boxes[0]);
	}

	function matcher(text) {
		try {
			return new RegExp(text, /[A-Z]/.test(text) ? '' : 'i');
		} catch (e) {
			return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
		}
	}

	// The share of samples with a match somewhere in their stack: matches above a match count once.
	function mark(text) {
		const re = matcher(text);
		const hits = boxes.filter((box) => re.test(box.name)).sort((a, b) => a.x - b.x || b.y - a.y);
		let width = 0, end = -1;
		clear();
		for (const box of hits) {
			box.rect.setAttribute('fill', 'rgb(230,0,230)');
			if (box.x < end - 0.05) continue;
			width += box.width;
			end = box.x + box.width;
		}
		found = hits;
		pattern = text;
		search.textContent = 'Reset Search';
		matched.textContent = 'Matched: ' + (100 * width / full).toFixed(1) + '%';
	}

	function clear() {
		for (const box of found || []) box.rect.setAttribute('fill', box.fill);
		found = null;
		search.textContent = 'Search';
		matched.textContent = ' ';
	}

	function ask() {
		const text = prompt('Function name (a regular expression is allowed)', pattern);
		if (text) mark(text);
		else if (text === '') clear();
	}

	function box_of(event) {
		const g = event.target.closest ? event.target.closest('#boxes > g') : null;
		return g && g.box;
	}

	function act(button) {
		if (button === reset) zoom(boxes[0]);
		else if (found) clear();
		else ask();
	}

	svg.addEventListener('click', (event) => {
		const box = box_of(event);
		if (box) zoom(box);
		else if (event.target === reset || event.target === search) act(event.target);
	});
	svg.addEventListener('mouseover', (event) => {
		const box = box_of(event);
		details.textContent = box ? `Function: ${box.tip}${box.module}` : ' ';
	});
	addEventListener('keydown', (event) => {
		if (event.key === 'F3' || ((event.ctrlKey || event.metaKey) && event.key === 'f')) {
			event.preventDefault();
			ask();
		} else if (event.key === 'Escape') {
			if (found) clear();
			else if (zoomed) zoom(boxes[0]);
		} else if (event.key === 'Enter' && (event.target === reset || event.target === search)) {
			act(event.target);
		}
	});
	read();
	if (all > 0) details.textContent = all.toLocaleString('en') + ' ' + unit;
})();
