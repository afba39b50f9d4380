// SPDX-License-Identifier: Apache-2.0
// Jobs.java - Java code whose stacks are known: two threads run its jobs in turns, for the seconds they
// are given. Usage: Jobs SECONDS; it prints `ready` when each has run once. `Jobs --jobs` prints what the
// stacks of each job may be, a line each: the job, functions from the root on, a bar, and the beginnings
// of functions of the library that may be among them. `Jobs known SECONDS` has one thread in one place.
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.function.LongUnaryOperator;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

public class Jobs {
    static final long TURN_NS = 30_000_000;
    static volatile long sink;

    static long spin(long until) {
        long n = 0;

        while (System.nanoTime() < until)
            for (int i = 0; i < 200; i++)
                n += (long) i * i ^ n;
        return n;
    }

    static long loop(int turns) {
        long n = turns;

        for (int i = 0; i < 5_000; i++)
            n = n * 31 + (i ^ n >> 7);
        return n;
    }

    interface Job {
        long work(long until) throws Exception;
    }

    static class Counter {
        long count(long until) {
            return spin(until);
        }

        class Inner {
            long count(long until) {
                return Counter.this.count(until);
            }
        }
    }

    // ---- one method in another -----------------------------------------------------------------

    static long inner(long until) {
        return new Counter().new Inner().count(until);
    }

    static long recurse(int depth, long until) {
        return depth == 0 ? spin(until) : recurse(depth - 1, until) + 1;
    }

    static long deep(long until) {
        return recurse(40, until);
    }

    static long calling(long until) {
        long n = 0;

        while (System.nanoTime() < until)
            for (int i = 0; i < 1000; i++)
                n += add(i, n);
        return n;
    }

    static long add(long a, long b) {
        return more(a, b, a, b, a, b, a, b, 1) + 1;
    }

    static long more(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
        return a + b * c - d + e * f - g + h * i;
    }

    static long fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static long tree(long until) {
        long n = 0;

        while (System.nanoTime() < until)
            n += fibonacci(12);
        return n;
    }

    static long lambdas(long until) {
        LongUnaryOperator first = x -> loop((int) x) + 1, second = x -> first.applyAsLong(x) * 2;
        long n = 0;

        while (System.nanoTime() < until)
            n += second.applyAsLong(n);
        return n;
    }

    interface Shape {
        long area(int size);
    }

    static class Square implements Shape {
        public long area(int size) {
            return loop(size);
        }
    }

    static class Circle implements Shape {
        public long area(int size) {
            return loop(size) * 3;
        }
    }

    static class Line implements Shape {
        public long area(int size) {
            return size;
        }
    }

    static final Shape[] SHAPES = { new Square(), new Circle(), new Line(), new Line() };

    static long shapes(long until) {
        long n = 0;

        while (System.nanoTime() < until)
            for (int i = 0; i < 50; i++)
                n += SHAPES[i & 3].area(i);
        return n;
    }

    // Excluded from compilation where the tests ask for it.
    static long cold(long until) {
        long n = 0;

        while (System.nanoTime() < until)
            n += coldPart((int) n);
        return n;
    }

    static long coldPart(int size) {
        return loop(size) + coldLeaf(size);
    }

    static long coldLeaf(int size) {
        long n = size;

        for (int i = 0; i < 100; i++)
            n += i;
        return n;
    }

    static synchronized long locked(int size) {
        return loop(size);
    }

    static long locks(long until) {
        long n = 0;

        while (System.nanoTime() < until)
            n += locked((int) n);
        return n;
    }

    static class Thrown extends RuntimeException {
        Thrown(String why) {
            super(why);
        }
    }

    static long fall(int depth) {
        if (depth == 0)
            throw new Thrown("down");
        return fall(depth - 1) + 1;
    }

    static long throwing(long until) {
        long n = 0;

        while (System.nanoTime() < until) {
            try {
                n += fall(20);
            } catch (Thrown e) {
                n++;
            }
        }
        return n;
    }

    // ---- by way of the library -----------------------------------------------------------------

    static int compare(String a, String b) {
        return a.length() != b.length() ? a.length() - b.length() : a.compareTo(b);
    }

    static long sorting(long until) {
        List<String> words = new ArrayList<>();
        long n = 0;

        for (int i = 0; i < 500; i++)
            words.add("word" + i * 7919 % 500);
        while (System.nanoTime() < until) {
            List<String> copy = new ArrayList<>(words);

            copy.sort(Jobs::compare);
            n += copy.size();
        }
        return n;
    }

    static long copying(long until) {
        long[] from = new long[4000];
        byte[] odd = new byte[3001];
        Object[] objects = new Object[2000], others = new String[2000];
        long n = 0;

        Arrays.fill(objects, "object");
        while (System.nanoTime() < until)
            for (int i = 0; i < 20; i++) {
                System.arraycopy(from, i, from, 100, 3000);
                System.arraycopy(odd, 1, odd, 0, 2000 + i);
                System.arraycopy(objects, 0, others, 0, others.length);
                n += Arrays.copyOf(from, 2000).length + Arrays.hashCode(odd);
            }
        return n;
    }

    static long hashing(long until) throws Exception {
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256"), sha512 = MessageDigest.getInstance("SHA-512"),
            md5 = MessageDigest.getInstance("MD5");
        byte[] text = new byte[5000];

        while (System.nanoTime() < until) {
            text = Arrays.copyOf(sha256.digest(text), text.length);
            text = Arrays.copyOf(sha512.digest(text), text.length);
            text = Arrays.copyOf(md5.digest(text), text.length);
        }
        return text[0];
    }

    static long checking(long until) {
        CRC32 crc = new CRC32();
        byte[] text = new byte[3000];
        long n = 0;

        while (System.nanoTime() < until) {
            crc.update(text);
            n += crc.getValue() + Base64.getEncoder().encode(text).length;
        }
        return n;
    }

    static long hiding(long until) throws Exception {
        Cipher cipher = Cipher.getInstance("AES/CTR/NoPadding");
        byte[] text = new byte[4000];

        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"));
        while (System.nanoTime() < until)
            text = cipher.update(text);
        return text[0];
    }

    static long packing(long until) {
        byte[] text = new byte[20000], packed = new byte[30000];
        long n = 0;

        for (int i = 0; i < text.length; i++)
            text[i] = (byte) (i * i / 7);
        while (System.nanoTime() < until) {
            Deflater deflater = new Deflater(6);

            deflater.setInput(text);
            deflater.finish();
            n += deflater.deflate(packed);
            deflater.end();
        }
        return n;
    }

    static long making(long until) {
        List<byte[]> kept = new ArrayList<>();
        long n = 0;

        while (System.nanoTime() < until) {
            kept.add(new byte[1000]);
            if (kept.size() > 2000)
                kept = new ArrayList<>();
            n += kept.size();
        }
        return n;
    }

    static long building(long until) {
        long n = 0;

        while (System.nanoTime() < until)
            n += ("text " + n + " and " + n * 3).getBytes(StandardCharsets.UTF_8).length;
        return n;
    }

    static long reflecting(long until) throws Exception {
        Method method = Jobs.class.getDeclaredMethod("loop", int.class);
        long n = 0;

        while (System.nanoTime() < until)
            n += (Long) method.invoke(null, (int) n);
        return n;
    }

    static long handling(long until) throws Exception {
        java.lang.invoke.MethodHandle handle = MethodHandles.lookup().findStatic(Jobs.class, "loop",
            MethodType.methodType(long.class, int.class));
        long n = 0;

        try {
            while (System.nanoTime() < until)
                n += (long) handle.invokeExact((int) n);
        } catch (Throwable e) {
            throw new Exception(e);
        }
        return n;
    }

    static long numbers(long until) {
        double x = 1;

        while (System.nanoTime() < until)
            for (int i = 1; i < 100; i++)
                x += Math.sin(x) + Math.log(i) + Math.pow(x, 0.3) + Math.exp(-i) + StrictMath.cbrt(x);
        return (long) x;
    }

    // ---- virtual threads, where there are any --------------------------------------------------

    static long pause(int depth) {
        if (depth > 0)
            return pause(depth - 1) + loop(depth);
        Thread.yield();
        return loop(depth);
    }

    static void virtual(long until) {
        while (System.nanoTime() < until)
            sink += pause(12);
    }

    static final Method START_VIRTUAL = startVirtual();

    static Method startVirtual() {
        try {
            return Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    static long threads(long until) throws Exception {
        Thread[] threads = new Thread[2];

        for (int i = 0; i < threads.length; i++)
            threads[i] = (Thread) START_VIRTUAL.invoke(null, (Runnable) () -> virtual(until));
        for (Thread thread : threads)
            thread.join();
        return 1;
    }

    // ---- all of them ---------------------------------------------------------------------------

    static final class Named {
        final String name, below, library;
        final Job job;

        Named(String name, Job job, String below, String library) {
            this.name = name;
            this.job = job;
            this.below = below;
            this.library = library;
        }
    }

    static final String ANY = "java. jdk. sun.";

    /* Java 8 has no String.repeat. */
    static String times(String text, int n) {
        return String.join("", Collections.nCopies(n, text));
    }

    static final Named[] JOBS = {
        new Named("inner", Jobs::inner, "inner Counter$Inner.count Counter.count spin", ""),
        new Named("deep", Jobs::deep, "deep" + times(" recurse", 41) + " spin", ""),
        new Named("calling", Jobs::calling, "calling add more", ""),
        new Named("tree", Jobs::tree, "tree" + times(" fibonacci", 12), ""),
        new Named("lambdas", Jobs::lambdas,
            "lambdas $$Lambda.applyAsLong lambda$lambdas$ $$Lambda.applyAsLong lambda$lambdas$ loop", ANY),
        new Named("shapes", Jobs::shapes, "shapes Square.area loop", ""),
        new Named("shapes", Jobs::shapes, "shapes Circle.area loop", ""),
        new Named("shapes", Jobs::shapes, "shapes Line.area", ""),
        new Named("cold", Jobs::cold, "cold coldPart loop", ""),
        new Named("cold", Jobs::cold, "cold coldPart coldLeaf", ""),
        new Named("locks", Jobs::locks, "locks locked loop", ""),
        new Named("throwing", Jobs::throwing, "throwing" + times(" fall", 21) + " Thrown.<init>", "java.lang."),
        new Named("sorting", Jobs::sorting, "sorting $$Lambda.compare compare", ANY),
        new Named("copying", Jobs::copying, "copying", "java. jdk.internal."),
        new Named("hashing", Jobs::hashing, "hashing", "java. sun.security. jdk.internal. sun.nio. sun.util. sun.invoke."),
        new Named("checking", Jobs::checking, "checking", "java. sun.nio. jdk.internal."),
        new Named("hiding", Jobs::hiding, "hiding", "java. javax.crypto. com.sun.crypto. sun. jdk."),
        new Named("packing", Jobs::packing, "packing", "java. jdk.internal."),
        new Named("making", Jobs::making, "making", "java. jdk.internal."),
        new Named("building", Jobs::building, "building", ANY),
        new Named("reflecting", Jobs::reflecting, "reflecting loop", ANY),
        new Named("handling", Jobs::handling, "handling loop", ANY),
        new Named("numbers", Jobs::numbers, "numbers", "java.lang. jdk.internal."),
        new Named("virtual", Jobs::threads, "threads", ANY),
        new Named("virtual", null, "lambda$threads$ virtual" + times(" pause", 13) + " loop", ANY),
    };

    static void turn(Named job) {
        try {
            sink += job.job.work(System.nanoTime() + TURN_NS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    static boolean has(Named job) {
        return START_VIRTUAL != null || !job.name.equals("virtual");
    }

    static void round() {
        Named before = null;

        for (Named job : JOBS) {
            if (has(job) && (before == null || !before.name.equals(job.name)))
                turn(job);
            before = job;
        }
    }

    static void work(double seconds) {
        long end = System.nanoTime() + (long) (seconds * 1e9);

        while (System.nanoTime() < end)
            round();
    }

    static void printJobs() {
        for (Named job : JOBS)
            if (has(job))
                System.out.println(job.name + " " + job.below + " | " + job.library);
    }

    static void ready() {
        System.out.println("ready");
        System.out.flush();
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("--jobs")) {
            printJobs();
            return;
        }
        double seconds = Double.parseDouble(args[args.length - 1]);
        Thread other = args[0].equals("known") ? new Thread(() -> deep(System.nanoTime() + (long) (seconds * 1e9)), "known")
            : new Thread(() -> work(seconds));

        other.start();
        if (args[0].equals("known")) {
            ready();
            return;
        }
        round();
        ready();
        work(seconds);
        other.join();
    }
}
