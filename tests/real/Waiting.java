/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting SECONDS - threads that wait in known methods. Once all wait it prints what the runtime says
 * of each, `stack NAME METHOD;METHOD...`, outermost first, and `ready`. */
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

public class Waiting {
	static final Object monitor = new Object();
	static final LinkedBlockingQueue<String> items = new LinkedBlockingQueue<>();

	static void nap(int deeper) throws Exception {
		if (deeper > 0)
			nap(deeper - 1);
		else
			Thread.sleep(3600000);
	}

	static void park() {
		for (;;)
			LockSupport.park();
	}

	static void take() throws Exception {
		items.take();
	}

	static void waitFor() throws Exception {
		synchronized (monitor) {
			for (;;)
				monitor.wait();
		}
	}

	interface Wait {
		void run() throws Exception;
	}

	static Thread start(String name, Wait wait) {
		Thread thread = new Thread(() -> {
			try {
				wait.run();
			} catch (Exception e) {
				e.printStackTrace();
			}
		}, name);
		thread.setDaemon(true);
		thread.start();
		return thread;
	}

	static void say(Thread thread) {
		StringBuilder text = new StringBuilder();
		for (StackTraceElement e : thread.getStackTrace())
			text.insert(0, (text.length() > 0 ? e.getClassName() + "." + e.getMethodName() + ";"
				: e.getClassName() + "." + e.getMethodName()));
		System.out.println("stack " + thread.getName() + " " + text);
	}

	public static void main(String[] args) throws Exception {
		Thread[] threads = { start("nap", () -> nap(30)), start("park", Waiting::park),
			start("take", Waiting::take), start("monitor", Waiting::waitFor) };
		for (Thread thread : threads) {
			while (thread.getState() != Thread.State.WAITING
				&& thread.getState() != Thread.State.TIMED_WAITING)
				Thread.onSpinWait();
			say(thread);
		}
		System.out.println("ready");
		Thread.sleep(Long.parseLong(args[0]) * 1000);
	}
}
