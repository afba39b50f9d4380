// SPDX-License-Identifier: Apache-2.0
// Serve.java - a web server of the JDK's own: each request sorts, matches and hashes a little.
// Usage: Serve; it prints `ready PORT`.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class Serve {
    static final Pattern WORD = Pattern.compile("([a-z]+)-([0-9]+)");

    static String page(int seed) {
        Map<String, Integer> counts = new TreeMap<>();
        List<String> words = new ArrayList<>();

        for (int i = 0; i < 300; i++)
            words.add("word-" + (seed * 31 + i * 17) % 97);
        for (String word : words)
            counts.merge(WORD.matcher(word).replaceAll("$2-$1"), 1, Integer::sum);
        return counts.entrySet().stream().map(e -> e.getKey() + "=" + e.getValue())
                .sorted().collect(Collectors.joining(",", "{", "}"));
    }

    static void answer(HttpExchange exchange) throws IOException {
        byte[] body = page(exchange.getRequestURI().hashCode()).getBytes(StandardCharsets.UTF_8);

        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);

        server.createContext("/", Serve::answer);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
        System.out.println("ready " + server.getAddress().getPort());
    }
}
