// SPDX-License-Identifier: Apache-2.0
// Native.java - Java that calls C, which calls Java. Usage: Native LIBRARY SECONDS; it prints `ready`.
public class Native {
    static volatile long sink;

    static native long down(long turns);

    // C calls it.
    static long up(long turns) {
        long n = 0;

        for (int i = 0; i < 50; i++)
            n += leaf(turns + i);
        return n;
    }

    static long leaf(long turns) {
        long n = turns;

        for (int i = 0; i < 2000; i++)
            n = n * 31 + (i ^ n >> 7);
        return n;
    }

    static long outer(long turns) {
        return down(turns) + 1;
    }

    public static void main(String[] args) {
        long end;

        System.load(args[0]);
        end = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;
        for (int i = 0; i < 2000; i++)
            sink += outer(i);
        System.out.println("ready");
        while (System.nanoTime() < end)
            sink += outer(1);
    }
}
