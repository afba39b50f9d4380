// SPDX-License-Identifier: Apache-2.0
// Mill.cs - a busy .NET program for the tests: plain loops, recursion, generics over values and over
// references, lambdas, exceptions and async, on two threads. Usage: Mill [SECONDS], or Mill market
// [SECONDS] for the program in Market.cs, or Mill stalled [SECONDS] for that in Stalled.cs.
// Prints `ready` when it has run each once. Compiled by Mono's mcs, run by CoreCLR.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Milling
{
    public sealed class Sack<T>
    {
        private readonly Dictionary<int, T> grains = new Dictionary<int, T>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Pour(int count, T grain)
        {
            for (int i = 0; i < count; i++)
                grains[i % 4096] = grain;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Weigh(T like)
        {
            int same = 0;
            foreach (KeyValuePair<int, T> grain in grains)
                if (EqualityComparer<T>.Default.Equals(grain.Value, like))
                    same++;
            return same;
        }
    }

    public static class Stones
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static ulong Grind(ulong seed, int turns)
        {
            for (int i = 0; i < turns; i++)
                seed = (seed ^ (seed >> 12)) * 2685821657736338717UL + (ulong)i;
            return seed;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static ulong Shaft(int gears, ulong seed)
        {
            return gears == 0 ? Grind(seed, 400000) : 1 + Shaft(gears - 1, seed);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Ackermann(int m, int n)
        {
            if (m == 0)
                return n + 1;
            return Ackermann(m - 1, n == 0 ? 1 : Ackermann(m, n - 1));
        }
    }

    public sealed class Jam : Exception
    {
    }

    public static class Mill
    {
        private static volatile bool closed;

        private static async Task<ulong> Deliver(ulong seed)
        {
            await Task.Yield();
            ulong first = Stones.Grind(seed, 200000);
            await Task.Yield();
            return first + Stones.Grind(first, 200000);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int ClearJams(int count)
        {
            int cleared = 0;
            for (int i = 0; i < count; i++) {
                try {
                    throw new Jam();
                } catch (Jam) {
                    cleared++;
                }
            }
            return cleared;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static ulong Day(ulong seed)
        {
            var numbers = new Sack<int>();
            var words = new Sack<string>();
            Func<ulong, ulong> sweep = s => Stones.Grind(s, 100000) + seed;

            numbers.Pour(100000, 7);
            words.Pour(100000, "rye");
            seed += (ulong)(numbers.Weigh(7) + words.Weigh("rye") + ClearJams(10));
            for (int i = 0; i < 300; i++)
                seed += (ulong)Stones.Ackermann(2, 20);
            seed += Stones.Shaft(40, seed);
            return sweep(seed) + Deliver(seed).GetAwaiter().GetResult();
        }

        private static void Work()
        {
            ulong seed = 1;
            while (!closed)
                seed = Day(seed);
        }

        public static int Main(string[] args)
        {
            if (args.Length > 1 && args[0] == "market")
                return Trading.Market.Run(int.Parse(args[1]));
            if (args.Length > 1 && args[0] == "stalled")
                return Stalling.Service.Run(int.Parse(args[1]));
            int seconds = args.Length > 0 ? int.Parse(args[0]) : 60;
            int start = Environment.TickCount;
            ulong seed = Day(1);
            var second = new Thread(Work);

            Console.WriteLine("ready");
            second.Start();
            while (Environment.TickCount - start < seconds * 1000)
                seed = Day(seed);
            closed = true;
            second.Join();
            return seed == 0 ? 1 : 0;
        }
    }
}
