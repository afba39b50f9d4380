// SPDX-License-Identifier: Apache-2.0
// Witness.java - Java code that says itself what its stacks are: `Witness SECONDS` burns time in one line, which is
// reached from many places, and prints, as JSON, the stack of each: for each frame from the root on its file, method
// and line. It says them before anything is compiled, and then no more, so that methods become a part of others.
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;
import java.util.stream.Stream;

public class Witness {
    static final Set<String> SAID = new HashSet<>();
    static final PrintStream OUT = System.out;
    static volatile boolean saying = true;
    static final Set<Thread> WORKED = ConcurrentHashMap.newKeySet();
    static volatile long sink;
    static long turns = 2000;

    static String frame(StackWalker.StackFrame frame) {
        String name = frame.getClassName().replaceFirst("[/+]0x.*", "") + "." + frame.getMethodName();
        String file = frame.getFileName() == null ? "" : frame.getFileName();

        return "[\"" + file + "\", \"" + name + "\", " + Math.max(frame.getLineNumber(), 0) + "]";
    }

    // The stack of the caller, at its next line.
    static synchronized void say() {
        List<String> frames = new ArrayList<>();

        StackWalker.getInstance(StackWalker.Option.SHOW_HIDDEN_FRAMES).forEach(frame -> frames.add(frame(frame)));
        frames.remove(0);
        String own = frames.get(0);
        int at = own.lastIndexOf(' ') + 1;

        frames.set(0, own.substring(0, at) + (Integer.parseInt(own.substring(at, own.length() - 1)) + 1) + "]");
        Collections.reverse(frames);
        if (SAID.add(frames.toString()))
            OUT.println(frames);
    }

    static long burn() {
        long n = sink;
        if (saying) say();
        for (long i = 0, most = turns; ; i++) { if (i >= most) return n; n = n * 31 + (i ^ n >> 7); }
    }

    // ---- places --------------------------------------------------------------------------------

    static long small(long n) {
        return burn() + n;
    }

    static long middle(long n) {
        return small(n) +
            small(n + 1);
    }

    static long nested(long n) {
        long sum = middle(n);

        sum += middle(sum);
        return sum + small(sum);
    }

    static long recurse(int depth) {
        return depth == 0 ? burn() : recurse(depth - 1) + 1;
    }

    static long loops(int times) {
        long sum = 0;

        for (int i = 0; i < times; i++) {
            sum += small(i);
            sum ^= burn();
        }
        return sum;
    }

    interface Shape {
        long area();

        default long twice() {
            return area() * 2;
        }
    }

    static class Square implements Shape {
        public long area() {
            return burn();
        }
    }

    static class Circle implements Shape {
        final long first = small(1);

        public long area() {
            return first +
                burn();
        }

        class Inner {
            long area() {
                return Circle.this.area();
            }
        }
    }

    static class Line extends Square {
        @Override
        public long area() {
            return super.area() + 1;
        }
    }

    static long shapes() {
        long sum = 0;

        for (Shape shape : new Shape[] { new Square(), new Circle(), new Line() })
            sum += shape.area() +
                shape.twice();
        return sum + new Circle().new Inner().area();
    }

    static long lambdas() {
        LongUnaryOperator first = x -> burn() + x;
        LongUnaryOperator second = x ->
            first.applyAsLong(x) * 2;
        LongSupplier third = Witness::burn;

        return second.applyAsLong(1) + third.getAsLong();
    }

    static long streams() {
        return LongStream.range(0, 3).map(x -> burn() + x).filter(x -> x != 1).sum() +
            Stream.of("a", "b").mapToLong(x -> small(x.length())).sum();
    }

    static long sorts() {
        List<Integer> numbers = new ArrayList<>(Arrays.asList(2, 1));

        numbers.sort((a, b) -> (burn() == 0 ? 1 : 0) + a - b);
        return numbers.get(0);
    }

    static long maps() {
        Map<Integer, Long> map = new HashMap<>();

        map.computeIfAbsent(1, key -> burn());
        map.forEach((key, value) -> sink = small(value));
        return map.size();
    }

    static synchronized long locked() {
        return burn();
    }

    static final Object LOCK = new Object();

    static long locks() {
        synchronized (LOCK) {
            return locked();
        }
    }

    static long fall(int depth) {
        if (depth == 0)
            throw new IllegalStateException();
        try {
            return fall(depth - 1);
        } finally {
            burn();
        }
    }

    static long exceptions() {
        try {
            return fall(3);
        } catch (IllegalStateException e) {
            return burn();
        }
    }

    static long choices(int which) {
        switch (which) {
        case 0:
            return burn();
        case 1:
            return small(1);
        default:
            return middle(2);
        }
    }

    static long all() {
        return nested(1) + recurse(20) + loops(3) + shapes() + lambdas() + streams() + sorts() + maps() + locks() +
            exceptions() + choices(0) + choices(1) + choices(2);
    }

    // ---- threads -------------------------------------------------------------------------------

    static final Method START_VIRTUAL = startVirtual();

    static Method startVirtual() {
        try {
            return Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    // Until then, and once at least.
    static void work(long until) {
        do {
            sink += all();
            WORKED.add(Thread.currentThread());
        } while (System.nanoTime() < until);
    }

    static void carried(long until) throws Exception {
        do {
            if (START_VIRTUAL != null)
                ((Thread) START_VIRTUAL.invoke(null, (Runnable) () -> sink += all())).join();
        } while (System.nanoTime() < until && START_VIRTUAL != null);
    }

    public static void main(String[] args) throws Exception {
        long until = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        Thread other = new Thread(() -> work(until), "other");

        other.start();
        for (long end = System.nanoTime() + 300_000_000; System.nanoTime() < until; end = until) {
            work(end - (end - System.nanoTime()) / 2);
            carried(end);
            while (WORKED.size() < 2)
                Thread.onSpinWait();
            if (saying) OUT.println("ready");
            saying = false;
        }
        other.join();
    }
}
