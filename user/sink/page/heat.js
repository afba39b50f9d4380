// SPDX-License-Identifier: Apache-2.0
// heat.js - samples over time: a column is a second (or more, in a long capture), a cell a fiftieth of
// it, the first at the bottom. What is marked is a run of time: from its first cell up, through whole
// columns, to its last. A range is [from, to) in nanoseconds from the first tick, as that of
// `stoker convert --since --until`.

const CELLS = 50, COLUMNS_MAX = 1200, SECOND = 1e9, AXIS = 18, GUTTER = 44;
const COLUMN_SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400];

class Heat {
	// on: { range(from, to or null), say(text) }
	constructor(element, ticks, duration, on) {
		this.element = element;
		this.canvas = element.querySelector('canvas');
		this.ticks = ticks;
		this.on = on;
		const long = Math.max(duration, ticks.len ? ticks.time[ticks.len - 1] + 1 : 1);
		this.column = SECOND * (COLUMN_SECONDS.find((s) => long / SECOND / s <= COLUMNS_MAX) || 604800);
		this.cell = this.column / CELLS;
		this.columns = Math.max(1, Math.ceil(long / this.column));
		this.end = Math.ceil(long / this.cell) * this.cell;
		this.range = null;
		this.cursor = 0;
		this.anchor = -1;
		this.dragging = false;
		element.addEventListener('pointerdown', (event) => this.down(event));
		element.addEventListener('pointermove', (event) => this.move(event));
		element.addEventListener('pointerup', () => { this.dragging = false; });
		element.addEventListener('pointercancel', () => { this.dragging = false; });
		element.addEventListener('keydown', (event) => this.key(event));
		element.addEventListener('focus', () => this.draw());
		element.addEventListener('blur', () => this.draw());
		new ResizeObserver(() => this.draw()).observe(element);
	}

	// taken: of each label whether its samples are shown.
	count(side, taken) {
		const { time, sample, len } = this.ticks;
		this.counts = new Uint32Array(this.columns * CELLS);
		for (let i = 0; i < len; i++)
			if (taken[side.label[sample[i]]]) this.counts[Math.min(Math.floor(time[i] / this.cell), this.counts.length - 1)]++;
		this.most = this.counts.reduce((a, b) => Math.max(a, b), 1);
		this.image = null;
	}

	paint() {
		const canvas = document.createElement('canvas');
		canvas.width = this.columns;
		canvas.height = CELLS;
		const c = canvas.getContext('2d'), image = c.createImageData(this.columns, CELLS);
		for (let x = 0; x < this.columns; x++)
			for (let y = 0; y < CELLS; y++) {
				const count = this.counts[x * CELLS + y];
				const at = 4 * ((CELLS - 1 - y) * this.columns + x);
				const [r, g, b] = heat_colour(count / this.most, this.theme);
				image.data[at] = r;
				image.data[at + 1] = g;
				image.data[at + 2] = b;
				image.data[at + 3] = 255;
			}
		c.putImageData(image, 0, 0);
		this.image = canvas;
	}

	draw() {
		const ratio = this.ratio || devicePixelRatio || 1;
		const width = this.element.clientWidth, height = this.element.clientHeight;
		if (!width || !this.counts) return;
		if (!this.image) this.paint();
		this.canvas.width = width * ratio;
		this.canvas.height = height * ratio;
		this.canvas.style.width = width + 'px';
		this.canvas.style.height = height + 'px';
		const c = this.canvas.getContext('2d');
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.map_width = Math.min(width - GUTTER - 2, this.columns * 140);
		this.map_height = height - AXIS;
		c.imageSmoothingEnabled = false;
		c.drawImage(this.image, GUTTER, 0, this.map_width, this.map_height);
		this.draw_axes(c);
		if (this.range) this.draw_range(c);
		if (document.activeElement === this.element && this.element.matches(':focus-visible')) this.draw_cursor(c);
	}

	draw_axes(c) {
		const style = getComputedStyle(this.element), each = this.map_width / this.columns;
		c.fillStyle = style.getPropertyValue('--muted');
		c.font = '10.5px system-ui, sans-serif';
		c.textAlign = 'center';
		let every = 1;
		for (const step of [1, 2, 5, 10, 20, 30, 60, 100, 200, 300, 600]) {
			every = step;
			if (step * each >= 46) break;
		}
		for (let x = 0; x < this.columns; x += every) {
			c.fillRect(GUTTER + x * each, this.map_height, 1, 4);
			const at = x * this.column / SECOND;
			c.fillText(at + ' s', GUTTER + Math.max(x * each, x > 0 ? 0 : 8), this.map_height + 15);
		}
		c.textAlign = 'right';
		const end = this.column / SECOND;
		c.fillText('+' + end + ' s', GUTTER - 6, 9);
		c.fillText('+0', GUTTER - 6, this.map_height - 1);
	}

	// The outline of a run of time, column for column.
	draw_range(c) {
		const [from, to] = this.range, each = this.map_width / this.columns;
		const y_of = (part) => this.map_height * (1 - part);
		const first = Math.floor(from / this.column), last = Math.min(Math.ceil(to / this.column), this.columns) - 1;
		const style = getComputedStyle(this.element);
		c.save();
		c.fillStyle = style.getPropertyValue('--veil');
		for (let x = 0; x < this.columns; x++) {
			const low = Math.max(0, Math.min(1, from / this.column - x)), high = Math.max(0, Math.min(1, to / this.column - x));
			const left = GUTTER + x * each;
			c.fillRect(left, y_of(1), each, y_of(high) - y_of(1));
			c.fillRect(left, y_of(low), each, y_of(0) - y_of(low));
		}
		c.strokeStyle = style.getPropertyValue('--accent');
		c.lineWidth = 1.5;
		c.beginPath();
		const low = from / this.column - first, high = Math.min(1, to / this.column - last);
		const a = GUTTER + first * each, b = GUTTER + (last + 1) * each;
		if (first === last) {
			c.rect(a, y_of(high), each, y_of(low) - y_of(high));
		} else {
			c.moveTo(a, y_of(low));
			c.lineTo(a, y_of(1));
			c.lineTo(b - each, y_of(1));
			c.lineTo(b - each, y_of(high));
			c.lineTo(b, y_of(high));
			c.lineTo(b, y_of(0));
			c.lineTo(a + each, y_of(0));
			c.lineTo(a + each, y_of(low));
			c.closePath();
		}
		c.stroke();
		c.restore();
	}

	draw_cursor(c) {
		const each = this.map_width / this.columns, high = this.map_height / CELLS;
		const x = Math.floor(this.cursor / CELLS), y = this.cursor % CELLS;
		c.strokeStyle = getComputedStyle(this.element).getPropertyValue('--text');
		c.lineWidth = 2;
		c.strokeRect(GUTTER + x * each - 1, this.map_height - (y + 1) * high - 1, each + 2, high + 2);
	}

	cell_at(event) {
		const box = this.canvas.getBoundingClientRect();
		const x = (event.clientX - box.left - GUTTER) / this.map_width * this.columns;
		const y = (1 - (event.clientY - box.top) / this.map_height) * CELLS;
		const column = Math.max(0, Math.min(this.columns - 1, Math.floor(x)));
		return column * CELLS + Math.max(0, Math.min(CELLS - 1, Math.floor(y)));
	}

	down(event) {
		if (event.button !== 0) return;
		this.element.setPointerCapture(event.pointerId);
		this.dragging = true;
		this.anchor = this.cursor = this.cell_at(event);
		this.mark();
	}

	move(event) {
		if (!this.dragging) {
			const cell = this.cell_at(event);
			this.on.say(this.cell_text(cell));
			return;
		}
		const cell = this.cell_at(event);
		if (cell === this.cursor) return;
		this.cursor = cell;
		this.mark();
	}

	cell_text(cell) {
		return `${((cell * this.cell) / SECOND).toFixed(3)} s: ${this.counts[cell]} samples in ${this.cell / 1e6} ms`;
	}

	mark() {
		const from = Math.min(this.anchor, this.cursor), to = Math.max(this.anchor, this.cursor) + 1;
		this.on.range([from * this.cell, to * this.cell]);
	}

	key(event) {
		const steps = { ArrowUp: 1, ArrowDown: -1, ArrowRight: CELLS, ArrowLeft: -CELLS };
		const step = steps[event.key];
		if (event.key === 'Escape') this.on.range(null);
		else if (event.key === 'Enter' || event.key === ' ') {
			this.anchor = this.cursor;
			this.mark();
		} else if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		event.stopPropagation();
		if (!step) return;
		if (event.shiftKey && this.anchor < 0) this.anchor = this.cursor;
		this.cursor = Math.max(0, Math.min(this.counts.length - 1, this.cursor + step));
		if (event.shiftKey) this.mark();
		else this.anchor = -1;
		this.on.say(this.cell_text(this.cursor), true);
		this.draw();
	}
}
