/* SPDX-License-Identifier: Apache-2.0 */
/* Stalled.java - a service whose pool of threads is starved by a dependency, from 8 s after its
 * start. Usage: Stalled lock|socket */
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

public class Stalled {
	static final long STALLS = System.nanoTime() + 8_000_000_000L;
	static final Object ledger = new Object();
	static ServerSocket server;
	static volatile long sum;

	static boolean stalls() {
		return System.nanoTime() > STALLS;
	}

	/* Whoever holds it waits for the disk, as it says. */
	static void ledgerEntry() throws Exception {
		synchronized (ledger) {
			if (stalls())
				Thread.sleep(600_000);
		}
	}

	static void priceOf() throws Exception {
		try (Socket s = new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort())) {
			s.setSoTimeout(600_000);
			s.getOutputStream().write(1);
			InputStream in = s.getInputStream();
			in.read();
		}
	}

	static void answer(Socket s) {
		try {
			s.getInputStream().read();
			while (stalls())
				Thread.sleep(100);
			s.getOutputStream().write(1);
			s.close();
		} catch (Exception e) {
			return;
		}
	}

	static void handle(boolean lock) {
		try {
			for (int i = 0; i < 2_000_000; i++)
				sum += i;
			if (lock)
				ledgerEntry();
			else
				priceOf();
		} catch (Exception e) {
			throw new RuntimeException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		boolean lock = args[0].equals("lock");
		ExecutorService pool = Executors.newFixedThreadPool(4);
		server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
		Thread acceptor = new Thread(() -> {
			try {
				for (;;) {
					Socket s = server.accept();
					Thread one = new Thread(() -> answer(s));
					one.setDaemon(true);
					one.start();
				}
			} catch (Exception e) {
				return;
			}
		});
		acceptor.setDaemon(true);
		acceptor.start();
		System.out.println("ready");
		for (;;) {
			Future<?> f = pool.submit(() -> handle(lock));
			try {
				f.get(1, TimeUnit.SECONDS);
			} catch (java.util.concurrent.TimeoutException e) {
				continue;
			}
		}
	}
}
