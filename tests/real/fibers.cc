// SPDX-License-Identifier: Apache-2.0
// fibers.cc - fibers of Boost that hand numbers to each other. Usage: fibers [SECONDS]
#include <boost/fiber/all.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>

static volatile unsigned long sum;

__attribute__((noinline)) static unsigned long grind(unsigned long x, int turns)
{
	for (int i = 0; i < turns; i++)
		x = (x ^ (x >> 13)) * 0x9e3779b97f4a7c15UL;
	return x;
}

__attribute__((noinline)) static unsigned long descend(unsigned long x, int depth)
{
	return depth == 0 ? grind(x, 4000) : descend(x + 1, depth - 1) + 1;
}

int main(int argc, char **argv)
{
	time_t end = time(nullptr) + (argc > 1 ? atoi(argv[1]) : 200);
	boost::fibers::buffered_channel<unsigned long> numbers(8);
	std::vector<boost::fibers::fiber> all;

	for (int i = 0; i < 4; i++)
		all.emplace_back([&] {
			unsigned long x;

			while (numbers.pop(x) == boost::fibers::channel_op_status::success) {
				sum += descend(x, 10);
				boost::this_fiber::yield();
			}
		});
	for (unsigned long x = 0; time(nullptr) < end; x++)
		numbers.push(x);
	numbers.close();
	for (auto &fiber : all)
		fiber.join();
	printf("%lu\n", sum);
	return 0;
}
