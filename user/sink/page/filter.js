// SPDX-License-Identifier: Apache-2.0
// filter.js - whose samples count: those of one container, process or thread, as chosen in the lists
// of the page. Each list offers what the ones before it leave, with its share of all samples.

class Filter {
	// all: the samples of each side.
	constructor(profile, all) {
		this.profile = profile;
		this.all = all;
		this.chosen = { container: '', process: '', thread: '' };
		// The text of a label by which a list tells it apart.
		this.text_of = {
			container: (side, i) => this.label(side, 'container', i),
			process: (side, i) => this.named(this.label(side, 'comm', i), this.label(side, 'pid', i)),
			thread: (side, i) => this.named(this.label(side, 'comm', i), this.label(side, 'tid', i)),
		};
		this.put_options();
	}

	choose(name, value) {
		this.chosen[name] = value;
		this.put_options();
	}

	// Does any sample say it?
	known(key) {
		const { texts, sides } = this.profile;
		return sides.some((side) => side.labels[key].some((text) => texts[text] !== UNKNOWN));
	}

	label(side, key, i) {
		return this.profile.texts[side.labels[key][i]];
	}

	named(comm, number) {
		return number === UNKNOWN ? comm : `${comm} ${number}`;
	}

	// The labels that pass the filters, or those before one of them: a thread is one of the process's.
	taken(side, before) {
		const taken = new Uint8Array(side.labels_len).fill(1);
		for (const name of Object.keys(this.chosen)) {
			if (name === before) break;
			if (this.chosen[name] === '') continue;
			for (let i = 0; i < taken.length; i++)
				if (this.text_of[name](side, i) !== this.chosen[name]) taken[i] = 0;
		}
		return taken;
	}

	put_options() {
		for (const name of ['container', 'process', 'thread']) {
			const sums = new Map();
			this.profile.sides.forEach((side, s) => {
				const taken = this.taken(side, name), by_label = new Float64Array(side.labels_len);
				for (let i = 0; i < side.len; i++) by_label[side.label[i]] += side.value[i] / (this.all[s] || 1);
				for (let i = 0; i < by_label.length; i++) {
					if (!taken[i]) continue;
					const text = this.text_of[name](side, i);
					sums.set(text, (sums.get(text) || 0) + by_label[i] / this.profile.sides.length);
				}
			});
			const list = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 500);
			if (!sums.has(this.chosen[name])) this.chosen[name] = '';
			id(name).replaceChildren(new Option('all', ''), ...list.map(([text, sum]) =>
				new Option(`${text}  (${(100 * sum).toFixed(1)} %)`, text, false, text === this.chosen[name])));
			id(name + '-field').hidden = sums.size < 2 || !this.known({ container: 'container', process: 'comm', thread: 'tid' }[name]);
		}
	}
}
