// SPDX-License-Identifier: Apache-2.0
/* throw.cc - exceptions: past frames with and without cleanups, thrown again, by type, out of a
 * callback of the C library; streams and containers.
 * BUILD o2: g++ -O2
 * BUILD long-clang: clang++ -O1
 * FROM main */
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

static int cleanups;

struct Guard {
	~Guard()
	{
		cleanups++;
	}
};

__attribute__((noinline)) static int dive(int n)
{
	Guard guard;

	if (n == 0)
		throw std::runtime_error("bottom");
	return dive(n - 1) + cleanups;
}

__attribute__((noinline)) static int without_cleanup(int n)
{
	return n > 0 ? without_cleanup(n - 1) + 1 : dive(3);
}

static int again(int n)
{
	try {
		return without_cleanup(n);
	} catch (const std::logic_error &) {
		return -1;
	} catch (...) {
		cleanups++;
		throw;
	}
}

extern "C" int compare_throws(const void *a, const void *b)
{
	if (*static_cast<const int *>(a) == 3)
		throw 42;
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static int streams()
{
	std::map<std::string, std::unique_ptr<int>> numbers;
	std::ostringstream text;
	std::vector<std::string> names{ "three", "one", "two" };

	std::sort(names.begin(), names.end());
	for (const auto &name : names)
		numbers[name] = std::make_unique<int>(static_cast<int>(name.size()));
	for (const auto &pair : numbers)
		text << pair.first << '=' << *pair.second << ' ' << 1.5 << '\n';
	return static_cast<int>(text.str().size());
}

int main()
{
	int caught = 0, values[] = { 5, 3, 1, 4 };
	std::function<int(int)> function = again;

	for (int i = 0; i < 2; i++) {
		try {
			function(i * 4);
		} catch (const std::exception &) {
			caught++;
		}
	}
	try {
		qsort(values, 4, sizeof(*values), compare_throws);
	} catch (int) {
		caught++;
	}
	return caught != 3 || cleanups < 8 || streams() == 0;
}
