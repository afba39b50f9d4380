// SPDX-License-Identifier: Apache-2.0
// Market.cs - the other busy .NET program: what real ones are full of, where Mill is plain. Sorting
// with comparers, LINQ, iterators, strings, delegates, structs in generics, virtual and interface
// calls, exceptions from deep down, locks, tasks, garbage, reflection, and native leaves (copies,
// the collector). Started by Mill.cs. Prints `ready` when it has run each once.
// A framework that was cut down may lack what a stall needs: that one is closed then, and told.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Trading
{
    public struct Price : IComparable<Price>
    {
        public int Coins;
        public double Weight;

        public int CompareTo(Price other)
        {
            int by = Coins.CompareTo(other.Coins);
            return by != 0 ? by : Weight.CompareTo(other.Weight);
        }
    }

    public interface IScale
    {
        long Weigh(int amount);
    }

    public abstract class Goods : IScale
    {
        public abstract long Weigh(int amount);

        public virtual long Twice(int amount)
        {
            return Weigh(amount) + Weigh(amount + 1);
        }
    }

    public sealed class Barley : Goods
    {
        public override long Weigh(int amount)
        {
            long sum = 0;
            for (int i = 0; i < amount; i++)
                sum += i % 7;
            return sum;
        }
    }

    public sealed class Rye : Goods
    {
        public override long Weigh(int amount)
        {
            long sum = 1;
            for (int i = 1; i < amount; i++)
                sum = sum * 31 + i;
            return sum;
        }

        public override long Twice(int amount)
        {
            return base.Twice(amount) ^ 5;
        }
    }

    public sealed class Shut : Exception
    {
        public Shut(string why) : base(why)
        {
        }
    }

    public static class Stalls
    {
        public static long SortByPrice(int day)
        {
            var prices = new List<Price>();
            var names = new List<string>();

            for (int i = 0; i < 3000; i++) {
                prices.Add(new Price { Coins = i * 7919 % 977, Weight = i * 0.5 });
                names.Add("good" + (i * 31 + day) % 1009);
            }
            prices.Sort();
            names.Sort(string.CompareOrdinal);
            return prices[17].Coins + names[3].Length;
        }

        public static long CountQueries(int day)
        {
            return Enumerable.Range(0, 8000).Where(i => (i ^ day) % 3 == 0).Select(i => i.ToString())
                .GroupBy(s => s.Length).OrderBy(g => g.Key).Sum(g => (long)g.Count());
        }

        private static IEnumerable<int> Customers(int day)
        {
            for (int i = 0; i < 20000; i++)
                if (i % 5 != day % 5)
                    yield return i;
        }

        public static long ServeCustomers(int day)
        {
            long served = 0;
            foreach (int customer in Customers(day))
                served += customer & 3;
            return served;
        }

        public static long KeepBooks(int day)
        {
            var book = new Dictionary<string, long>();
            for (int i = 0; i < 4000; i++) {
                string key = "customer" + (i * 31 + day) % 500;
                long had;
                book.TryGetValue(key, out had);
                book[key] = had + i;
            }
            return book.Count;
        }

        public static long WriteSigns(int day)
        {
            var sign = new StringBuilder();
            for (int i = 0; i < 3000; i++)
                sign.Append("rye ").Append(i * day).Append(';');
            string[] parts = sign.ToString().Split(';');
            return parts.Length + sign.ToString().Replace("rye", "barley").IndexOf("9999");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Haggle(int depth, int price)
        {
            if (depth == 0 && price % 2 == 0)
                throw new Shut("too dear");
            return depth == 0 ? price : Haggle(depth - 1, price) + 1;
        }

        public static long HaggleAll(int day)
        {
            long agreed = 0;
            for (int i = 0; i < 12; i++) {
                try {
                    agreed += Haggle(20, i);
                } catch (Shut e) {
                    agreed -= e.Message.Length;
                } finally {
                    agreed++;
                }
            }
            return agreed;
        }

        public static long WeighGoods(int day)
        {
            var goods = new Goods[] { new Barley(), new Rye(), new Barley() };
            long sum = 0;
            for (int i = 0; i < 600; i++)
                sum += goods[i % 3].Twice(100 + day % 10) + ((IScale)goods[(i + 1) % 3]).Weigh(50);
            return sum;
        }

        private static readonly object Till = new object();
        private static long till;

        public static long ShareTill(int day)
        {
            var tasks = new List<Task<long>>();
            for (int i = 0; i < 6; i++) {
                int part = i;
                tasks.Add(Task.Run(() => {
                    for (int j = 0; j < 3000; j++)
                        lock (Till)
                            till += j ^ part;
                    return till;
                }));
            }
            foreach (Task<long> task in tasks)
                task.GetAwaiter().GetResult();
            return till;
        }

        public static long MoveSacks(int day)
        {
            var sacks = new byte[400000];
            for (int i = 0; i < 20; i++)
                Array.Copy(sacks, 0, sacks, 1 + i, sacks.Length - 1 - i);
            Array.Reverse(sacks);
            return sacks[3];
        }

        public static long WasteSacks(int day)
        {
            object last = null;
            for (int i = 0; i < 3000; i++)
                last = new object[] { last is object[] && i % 50 != 0 ? last : null, new byte[200 + i % 100] };
            return ((object[])last).Length;
        }

        public static long CallByName(int day)
        {
            MethodInfo method = typeof(Stalls).GetMethod("Haggle", BindingFlags.NonPublic | BindingFlags.Static);
            long sum = 0;
            for (int i = 0; i < 100; i++)
                sum += (int)method.Invoke(null, new object[] { 5, 2 * i + 1 });
            return sum;
        }
    }

    public static class Market
    {
        private static List<Func<int, long>> open = new List<Func<int, long>> { Stalls.SortByPrice,
            Stalls.CountQueries, Stalls.ServeCustomers, Stalls.KeepBooks, Stalls.WriteSigns,
            Stalls.HaggleAll, Stalls.WeighGoods, Stalls.ShareTill, Stalls.MoveSacks, Stalls.WasteSacks,
            Stalls.CallByName };

        private static void OpenAll()
        {
            var good = new List<Func<int, long>>();
            foreach (Func<int, long> stall in open) {
                try {
                    stall(1);
                    good.Add(stall);
                } catch (Exception e) {
                    Console.WriteLine("closed: " + e.Message);
                }
            }
            open = good;
        }

        private static void Trade(int start, int seconds)
        {
            for (int day = 0; Environment.TickCount - start < seconds * 1000; day++)
                foreach (Func<int, long> stall in open)
                    stall(day);
        }

        public static int Run(int seconds)
        {
            int start = Environment.TickCount;
            var second = new Thread(() => Trade(start, seconds));

            OpenAll();
            Console.WriteLine("ready");
            second.Start();
            Trade(start, seconds);
            second.Join();
            return 0;
        }
    }
}
