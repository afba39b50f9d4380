// SPDX-License-Identifier: Apache-2.0
// table.js - functions with what they cost by themselves and with what they call. Rows beyond the
// first are made when they are asked for: a profile has tens of thousands.

const ROWS = 200;

class Table {
	// on: { pick(function), number(count), share(part) }; columns: [{ title, get(fn), text(fn), bar }]
	constructor(panel, on) {
		this.head = panel.querySelector('thead tr');
		this.body = panel.querySelector('tbody');
		this.more = panel.querySelector('#more');
		this.more_text = panel.querySelector('#more-text');
		this.on = on;
		this.sort = { column: 0, down: true };
		this.more.addEventListener('click', () => {
			this.shown += 5 * ROWS;
			this.fill();
		});
		this.body.addEventListener('click', (event) => {
			const button = event.target.closest('button');
			if (button) on.pick(Number(button.dataset.fn));
		});
	}

	show(columns, rows, names) {
		this.columns = columns;
		this.rows = rows;
		this.names = names;
		this.shown = ROWS;
		this.put_head();
		this.order();
		this.fill();
	}

	put_head() {
		this.head.replaceChildren(...this.columns.map((column, i) => {
			const th = document.createElement('th'), button = document.createElement('button');
			th.scope = 'col';
			th.className = column.number ? 'number' : '';
			button.type = 'button';
			button.textContent = column.title;
			button.addEventListener('click', () => {
				const same = this.sort.column === i;
				this.sort = { column: i, down: same ? !this.sort.down : !!column.number };
				this.shown = ROWS;
				this.mark_head();
				this.order();
				this.fill();
			});
			th.append(button);
			return th;
		}));
		this.mark_head();
	}

	mark_head() {
		Array.from(this.head.children, (th, i) => {
			if (i === this.sort.column) th.setAttribute('aria-sort', this.sort.down ? 'descending' : 'ascending');
			else th.removeAttribute('aria-sort');
		});
	}

	order() {
		const { get } = this.columns[this.sort.column], way = this.sort.down ? -1 : 1;
		this.rows.sort((a, b) => {
			const x = get(a), y = get(b);
			return x === y ? a - b : (x < y ? -1 : 1) * way;
		});
	}

	fill() {
		const shown = Math.min(this.shown, this.rows.length);
		this.body.replaceChildren(...this.rows.slice(0, shown).map((fn) => this.row(fn)));
		this.more.hidden = shown === this.rows.length;
		this.more_text.textContent = `${shown.toLocaleString('en')} of ${this.rows.length.toLocaleString('en')} functions`;
	}

	row(fn) {
		const tr = document.createElement('tr');
		for (const column of this.columns) {
			const td = document.createElement(column.name ? 'th' : 'td');
			if (column.name) {
				const swatch = document.createElement('i'), button = document.createElement('button');
				td.scope = 'row';
				swatch.style.background = column.colour(fn);
				button.type = 'button';
				button.dataset.fn = fn;
				button.title = 'Find in the flame graph';
				button.textContent = column.text(fn);
				td.append(swatch, button);
			} else {
				td.className = column.number ? 'number' : 'module';
				const text = document.createElement('span');
				text.textContent = column.text(fn);
				td.append(text);
				if (column.bar) {
					const bar = document.createElement('b');
					bar.style.width = Math.min(100, 100 * Math.abs(column.bar(fn))).toFixed(2) + '%';
					if (column.tint) bar.style.background = column.tint(fn);
					td.append(bar);
				}
			}
			tr.append(td);
		}
		return tr;
	}
}
