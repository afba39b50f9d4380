// SPDX-License-Identifier: Apache-2.0
// Churn.java - classes that come and go: `Churn` makes one after the other of Gaaaa, which has another number in
// the place of "aaaa" in all of its names, runs it for a moment, and lets it be unloaded. Classes and code of one
// size take each other's places.
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.util.function.LongUnaryOperator;

public class Churn {
    static final long TURN_NS = 50_000_000;
    static volatile long sink;

    static class Loader extends ClassLoader {
        Class<?> define(byte[] code) {
            return defineClass(null, code, 0, code.length);
        }
    }

    static byte[] numbered(byte[] from, int number) {
        byte[] code = from.clone(), digits = String.format("%04d", number).getBytes();

        for (int i = 0; i + 4 <= code.length; i++)
            if (code[i] == 'a' && code[i + 1] == 'a' && code[i + 2] == 'a' && code[i + 3] == 'a')
                System.arraycopy(digits, 0, code, i, 4);
        return code;
    }

    public static void main(String[] args) throws Exception {
        byte[] code;

        try (InputStream file = Churn.class.getResourceAsStream("Gaaaa.class")) {
            code = file.readAllBytes();
        }
        for (int number = 0;; number = (number + 1) % 10000) {
            Constructor<?> made = new Loader().define(numbered(code, number)).getDeclaredConstructor();

            made.setAccessible(true);
            sink += ((LongUnaryOperator) made.newInstance()).applyAsLong(System.nanoTime() + TURN_NS);
            if (number == 10)
                System.out.println("ready");
            if (number % 20 == 19)
                System.gc();
        }
    }
}

class Gaaaa implements LongUnaryOperator {
    Gaaaa() {
    }

    static long innerAaaaa(long n) {
        for (int i = 0; i < 300; i++)
            n = n * 31 + (i ^ n >> 7);
        return n;
    }

    static long middleAaaaa(long n) {
        return innerAaaaa(n) + innerAaaaa(n + 1);
    }

    static long outerAaaaa(long n) {
        return middleAaaaa(n) * 3;
    }

    public long applyAsLong(long until) {
        long n = 0;

        while (System.nanoTime() < until)
            for (int i = 0; i < 20; i++)
                n += outerAaaaa(n);
        return n;
    }
}
