// SPDX-License-Identifier: Apache-2.0
// Deep.java - a loop at the end of a recursion: Deep DEPTH.
public class Deep {
    static volatile long sink;

    static long spin() {
        long n = sink;

        for (int i = 0; i < 1000; i++)
            n = n * 31 + (i ^ n >> 7);
        return n;
    }

    static long deep(int depth) {
        long n = 0;

        if (depth > 0)
            return deep(depth - 1) + 1;
        for (int i = 0; i < 2000; i++)
            n += spin();
        return n;
    }

    public static void main(String[] args) {
        int depth = Integer.parseInt(args[0]);

        for (;;)
            sink += deep(depth);
    }
}
