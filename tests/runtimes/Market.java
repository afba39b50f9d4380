// SPDX-License-Identifier: Apache-2.0
// Market.java - the other busy Java program: what real ones are full of, where Mill is plain. Sorting
// with comparators, streams, strings, regular expressions, maps, big numbers, exceptions from deep
// down, locks, garbage, reflection, and native leaves (zlib, CRC, array copies).
// Usage: Market [SECONDS]. Prints `ready` when it has run each once.
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

public class Market {
    interface Stall {
        long trade(int day) throws Exception;
    }

    static class Shut extends RuntimeException {
        Shut(String why) {
            super(why);
        }
    }

    static volatile long sold;

    static long sortByPrice(int day) {
        Random random = new Random(day);
        List<String> goods = new ArrayList<>();

        for (int i = 0; i < 3000; i++)
            goods.add("good" + random.nextInt(100000));
        goods.sort(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder()));
        return goods.get(0).length();
    }

    static long countStreams(int day) {
        return IntStream.range(0, 20000).filter(i -> (i ^ day) % 3 == 0).mapToObj(Integer::toString)
            .collect(Collectors.groupingBy(String::length, TreeMap::new, Collectors.counting()))
            .values().stream().mapToLong(Long::longValue).sum();
    }

    static long matchLabels(int day) {
        Pattern label = Pattern.compile("([a-z]+)-(\\d{2,4})(?:/(\\w+))?");
        long found = 0;

        for (int i = 0; i < 400; i++)
            if (label.matcher("barley-" + (day + i) + "/sack" + i).matches())
                found++;
        return found;
    }

    static long keepBooks(int day) {
        Map<String, Integer> book = new HashMap<>();
        ConcurrentHashMap<Integer, String> shared = new ConcurrentHashMap<>();

        for (int i = 0; i < 4000; i++) {
            book.merge("customer" + (i * 31 + day) % 500, i, Integer::sum);
            shared.putIfAbsent(i % 700, String.valueOf(i));
        }
        return book.size() + shared.size();
    }

    static long countCoins(int day) {
        BigInteger coins = BigInteger.valueOf(day + 3);

        for (int i = 0; i < 40; i++)
            coins = coins.multiply(coins.add(BigInteger.TEN)).mod(BigInteger.ONE.shiftLeft(700));
        return coins.bitLength();
    }

    static int haggle(int depth, int price) {
        if (depth == 0 && (price & 1) == 0)
            throw new Shut("too dear: " + price);
        return depth == 0 ? price : haggle(depth - 1, price) + 1;
    }

    static long haggleAll(int day) {
        long agreed = 0;

        for (int i = 0; i < 60; i++) {
            try {
                agreed += haggle(20, i);
            } catch (Shut e) {
                agreed -= e.getMessage().length();
            }
        }
        return agreed;
    }

    static long packGoods(int day) {
        byte[] goods = new byte[60000], packed = new byte[60000];
        Deflater deflater = new Deflater(6);
        CRC32 seal = new CRC32();
        int len;

        for (int i = 0; i < goods.length; i++)
            goods[i] = (byte) (i * i / 7 + day);
        deflater.setInput(goods);
        deflater.finish();
        len = deflater.deflate(packed);
        deflater.end();
        seal.update(packed, 0, len);
        return seal.getValue();
    }

    static long signBooks(int day) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");

        for (int i = 0; i < 50; i++)
            digest.update(("page " + i + day).getBytes(StandardCharsets.UTF_8));
        return digest.digest()[0];
    }

    static long callByName(int day) throws Exception {
        Method method = Market.class.getDeclaredMethod("haggle", int.class, int.class);
        long sum = 0;

        for (int i = 0; i < 300; i++)
            sum += (Integer) method.invoke(null, 5, 2 * i + 1);
        return sum;
    }

    static synchronized long weighTogether(int day) {
        long[] weights = new long[20000];

        Arrays.setAll(weights, i -> (long) i * day % 977);
        System.arraycopy(weights, 0, weights, 1, weights.length - 1);
        Arrays.parallelSort(weights);
        return weights[100];
    }

    static class Split extends RecursiveTask<Long> {
        final int from, to;

        Split(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected Long compute() {
            if (to - from < 2000) {
                long sum = 0;
                for (int i = from; i < to; i++)
                    sum += Integer.toHexString(i).hashCode();
                return sum;
            }
            Split left = new Split(from, (from + to) / 2), right = new Split((from + to) / 2, to);
            left.fork();
            return right.compute() + left.join();
        }
    }

    static long shareWork(int day) {
        return ForkJoinPool.commonPool().invoke(new Split(0, 20000));
    }

    static final Stall[] STALLS = { Market::sortByPrice, Market::countStreams, Market::matchLabels,
        Market::keepBooks, Market::countCoins, Market::haggleAll, Market::packGoods, Market::signBooks,
        Market::callByName, Market::weighTogether, Market::shareWork };

    static void day(int day) {
        for (Stall stall : STALLS) {
            try {
                sold += stall.trade(day);
            } catch (Exception e) {
                throw new Shut(e.toString());
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int seconds = args.length > 0 ? Integer.parseInt(args[0]) : 60;
        long end = System.nanoTime() + seconds * 1000000000L;
        Thread other = new Thread(() -> {
            for (int i = 0; System.nanoTime() < end; i++)
                day(i);
        });

        day(1);
        System.out.println("ready");
        other.start();
        for (int i = 0; System.nanoTime() < end; i++)
            day(i);
        other.join();
    }
}
