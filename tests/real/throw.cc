/* SPDX-License-Identifier: Apache-2.0 */
/* throw.cc - exceptions through frames with destructors, for as long as it runs. Most of its time is
 * in libgcc's unwinder and in libstdc++. Usage: throw [SECONDS] */
#include <cstdlib>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static long undone;

struct Guard {
	std::string text;
	explicit Guard(int n) : text(std::to_string(n) + " of many, too long for the short form") {}
	~Guard() { undone += static_cast<long>(text.size()); }
};

struct Shape {
	virtual ~Shape() = default;
	virtual double area(int n) const = 0;
};

struct Round : Shape {
	double area(int n) const override
	{
		if (n % 3 == 0)
			throw std::out_of_range("round " + std::to_string(n));
		return 3.14 * n;
	}
};

__attribute__((noinline)) static double descend(const Shape &shape, int depth, int n)
{
	Guard guard(n);

	if (depth == 0)
		return shape.area(n);
	return descend(shape, depth - 1, n) + static_cast<double>(guard.text.size());
}

__attribute__((noinline)) static double again(int n)
{
	try {
		return descend(Round(), 10, n);
	} catch (...) {
		undone++;
		throw;
	}
}

__attribute__((noinline)) static void once(std::map<std::string, int> &seen, int n)
{
	try {
		again(n);
	} catch (const std::exception &error) {
		seen[error.what()]++;
		if (seen.size() > 500)
			seen.clear();
	}
}

int main(int argc, char **argv)
{
	time_t end = time(nullptr) + (argc > 1 ? std::atoi(argv[1]) : 60);
	std::map<std::string, int> seen;
	int n = 0;

	while (time(nullptr) < end)
		for (int i = 0; i < 1000; i++)
			once(seen, n++ & 0xffff);
	return undone == 0;
}
