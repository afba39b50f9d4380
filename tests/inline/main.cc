/* SPDX-License-Identifier: Apache-2.0 */
// main.cc - ties the others together, so that nothing is optimised away.
#include "tree.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv)
{
	tree::dice d = { static_cast<uint32_t>(argc > 1 ? std::atoi(argv[1]) : 1) };
	tree::set<uint32_t> seen;
	uint64_t total = 0;

	for (int i = 0; i < 20; i++) {
		total += tree::words(d, 500) + tree::numbers(d, 2000) + tree::plain(total, 100);
		seen.add(d.below(10));
	}
	seen.each([&total](uint32_t v) { total += v; });
	std::printf("%llu\n", static_cast<unsigned long long>(total));
	return 0;
}
