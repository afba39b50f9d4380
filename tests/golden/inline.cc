/* SPDX-License-Identifier: Apache-2.0 */
/* The source of inline-*.so: small libraries of which every other line was inlined into another.
 * Made once, in this folder's parent, and kept as they are, by
 *     F="-O2 -shared -fPIC -nostdlib -fno-exceptions -fno-asynchronous-unwind-tables \
 *         -ffile-prefix-map=$PWD=/src -Wl,--build-id=none"
 *     g++ -gdwarf-5 $F golden/inline.cc -o golden/inline-5.so
 *     g++ -gdwarf-2 $F golden/inline.cc -o golden/inline-2.so
 *     clang++ -gdwarf-4 $F golden/inline.cc -o golden/inline-4.so
 *     clang++ -gdwarf-5 -gsplit-dwarf -fno-split-dwarf-inlining $F golden/inline.cc \
 *         -o golden/inline-split.so        and its golden/inline-split.dwo
 *     cp inline-5.so a; cp inline-2.so b; dwz -m inline-dwz.alt a b; mv a inline-dwz.so */
extern "C" long other(long);

namespace shop
{

namespace
{

struct till {
	long sum;

	__attribute__((always_inline)) void put(long coin)
	{
		sum += other(coin);
	}
};

template <int N> __attribute__((always_inline)) inline long times(long x)
{
	return other(x * N) + 1;
}

}

class desk
{
	till one = { 0 };

    public:
	long price;

	__attribute__((always_inline)) long pay(long coin)
	{
		one.put(coin);
		one.put(times<3>(coin));
		return one.sum;
	}
};

long sell(desk &d, long n)
{
	for (long i = 0; i < n; i++)
		if (d.pay(i) > d.price)
			return i;
	return times<5>(n);
}

}

static __attribute__((always_inline)) inline long half(long x)
{
	if (__builtin_expect(other(x) == 0, 0))
		return other(x / 2);
	return x;
}

extern "C" long plain(long x)
{
	return half(x) * 7 + half(x + 1);
}
