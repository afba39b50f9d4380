/* SPDX-License-Identifier: Apache-2.0 */
// words.cc - strings, maps and lambdas, in an anonymous namespace and out of it.
#include "tree.h"

namespace
{

std::string word(tree::dice &d)
{
	std::string text;

	for (uint32_t i = d.below(12) + 1; i > 0; i--)
		text.push_back(static_cast<char>('a' + d.below(26)));
	return text;
}

struct by_length {
	bool operator()(const std::string &a, const std::string &b) const
	{
		return a.size() != b.size() ? a.size() < b.size() : a < b;
	}
};

template <typename Map> uint64_t sum(const Map &map)
{
	uint64_t total = 0;

	for (const auto &entry : map)
		total += entry.first.size() * entry.second;
	return total;
}

}

uint64_t tree::words(dice &d, size_t n)
{
	std::map<std::string, uint64_t, by_length> sorted;
	std::unordered_map<std::string, uint64_t> hashed;
	set<std::string> own;
	uint64_t letters = 0;

	for (size_t i = 0; i < n; i++) {
		std::string text = word(d);

		sorted[text]++;
		hashed[text] += i;
		own.add(std::move(text));
	}
	own.each([&letters](const std::string &text) {
		for (char c : text)
			letters += mix(static_cast<uint32_t>(c)) & 1;
	});
	return sum(sorted) + sum(hashed) + letters + own.size();
}
