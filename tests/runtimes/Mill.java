// SPDX-License-Identifier: Apache-2.0
// Mill.java - a busy Java program for the tests: loops, recursion, generics, lambdas, strings.
// Usage: java Mill [SECONDS]. Prints `ready` when the compilers have had time to see the hot code.
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongUnaryOperator;

public class Mill {
	static long grind(long seed, int turns) {
		for (int i = 0; i < turns; i++)
			seed = (seed ^ (seed >>> 12)) * 0x2545F4914F6CDD1DL + i;
		return seed;
	}

	static long shaft(int gears, long seed) {
		return gears == 0 ? grind(seed, 300000) : 1 + shaft(gears - 1, seed);
	}

	static int ackermann(int m, int n) {
		if (m == 0)
			return n + 1;
		return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
	}

	static final class Sack<T> {
		private final Map<Integer, T> grains = new HashMap<>();

		void pour(int count, T grain) {
			for (int i = 0; i < count; i++)
				grains.put(i & 1023, grain);
		}

		int weigh(T like) {
			int same = 0;
			for (T grain : grains.values())
				if (grain.equals(like))
					same++;
			return same;
		}
	}

	static long day(long seed) {
		Sack<Long> numbers = new Sack<>();
		Sack<String> words = new Sack<>();
		long before = seed;
		LongUnaryOperator sweep = s -> grind(s, 100000) + before;

		numbers.pour(20000, 7L);
		words.pour(20000, "rye");
		seed += numbers.weigh(7L) + words.weigh("rye");
		for (int i = 0; i < 300; i++)
			seed += ackermann(2, 20);
		return sweep.applyAsLong(shaft(40, seed));
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + (args.length > 0 ? Long.parseLong(args[0]) : 60) * 1000000000L;
		long warm = System.nanoTime() + 3000000000L;
		long seed = 1;

		while (System.nanoTime() < warm)
			seed = day(seed);
		System.out.println("ready");
		while (System.nanoTime() < end)
			seed = day(seed);
		System.exit(seed == 0 ? 1 : 0);
	}
}
