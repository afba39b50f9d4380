// SPDX-License-Identifier: Apache-2.0
// colour.js - what a frame's colour says: its kind, of a waiting thread's mark the state (legend.js), and in a
// comparison whether it grew. A name keeps its shade, so that the same function is found again by eye. Text on frames is dark in both themes.

const KIND_TEXT = ['native', 'kernel', 'JIT', 'inlined', 'interpreted', 'mark', 'label'];
// [hue, range of hue, saturation, range of lightness]
const KIND_COLOUR = [[14, 32, 86, 10], [208, 18, 58, 8], [88, 38, 46, 8], [170, 16, 44, 8], [46, 10, 62, 8], [0, 0, 4, 2], [38, 10, 12, 4]];
const SATURATION = { light: 1, dark: 0.8 };
const LIGHTNESS = { light: [68, 71, 68, 68, 68, 74, 82], dark: [57, 60, 56, 56, 56, 52, 46] };
const MATCH = { light: '#c026d3', dark: '#e355f0' };

function hash_of(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return (hash ^ (hash >>> 15)) >>> 0;
}

// As #rrggbb, which a canvas takes in faster than hsl().
function hex_of(hue, saturation, lightness) {
	const s = saturation / 100, l = lightness / 100, a = s * Math.min(l, 1 - l);
	const part = (n) => {
		const k = (n + hue / 30) % 12;
		return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1)))).toString(16).padStart(2, '0');
	};
	return '#' + part(0) + part(8) + part(4);
}

const SAME = { light: hex_of(40, 8, 83), dark: hex_of(34, 5, 45) };

function frame_colour(kind, name, theme) {
	const state = kind === KIND.mark && state_of(name);
	if (state) return state[theme];
	const [hue, hues, saturation, spread] = KIND_COLOUR[kind], hash = hash_of(name);
	const lightness = LIGHTNESS[theme][kind] + ((hash >>> 8) % 100) / 100 * spread - spread / 2;
	return hex_of(hue + (hash % 100) / 100 * hues, saturation * SATURATION[theme], lightness);
}

// Red grew, blue shrank; full from twice as much or half as much on. What has so few samples that
// chance alone may have done it is pale.
const STEPS = 12;
const SHADES = {};
for (const theme of ['light', 'dark']) {
	const shade = (hue, i) => {
		const part = i / STEPS;
		return theme === 'light'
			? hex_of(hue, 20 + 62 * part, 90 - 28 * part)
			: hex_of(hue, 8 + 62 * part, 47 + 13 * part);
	};
	SHADES[theme] = { grew: [], shrank: [] };
	for (let i = 0; i <= STEPS; i++) {
		SHADES[theme].grew.push(shade(8, i));
		SHADES[theme].shrank.push(shade(214, i));
	}
}

function diff_colour(before, after, theme) {
	const change = after - before, noise = 2 * Math.sqrt(before + after);
	const relative = Math.min(1, Math.abs(Math.log2((after + 0.5) / (before + 0.5))));
	const sure = Math.min(1, Math.abs(change) / (noise + 1));
	const step = Math.round(STEPS * Math.min(relative, 0.15 + sure) * (change === 0 ? 0 : 1));
	if (step === 0) return SAME[theme];
	return SHADES[theme][change > 0 ? 'grew' : 'shrank'][step];
}

// From nothing to the most, for the heat map.
function heat_colour(part, theme) {
	if (part <= 0) return theme === 'light' ? [240, 236, 230] : [38, 35, 32];
	const stops = theme === 'light'
		? [[253, 224, 178], [247, 153, 74], [217, 72, 30], [158, 28, 26]]
		: [[70, 42, 26], [140, 62, 26], [208, 100, 36], [248, 178, 92]];
	const at = Math.min(part, 1) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
	return stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * (at - i)));
}
