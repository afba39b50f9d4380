// SPDX-License-Identifier: Apache-2.0
// Stalled.cs - a .NET service whose thread pool is starved by a dependency, from 8 s after its start:
// handlers wait for an answer that they should await. Started by Mill.cs. Uses what a framework that
// was cut down has, too.
using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Stalling
{
    public static class Ledger
    {
        public static int Stalls;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int BalanceOf(int account)
        {
            var answer = new TaskCompletionSource<int>();
            if (Environment.TickCount < Stalls)
                answer.SetResult(account);
            return answer.Task.Result;
        }
    }

    public static class Service
    {
        private static long sum;

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Handle(object account)
        {
            for (int i = 0; i < 5000000; i++)
                sum += i;
            sum += Ledger.BalanceOf((int)account);
        }

        public static int Run(int seconds)
        {
            int start = Environment.TickCount;

            Ledger.Stalls = start + 8000;
            Console.WriteLine("ready");
            for (int i = 0; Environment.TickCount - start < seconds * 1000; i++)
            {
                ThreadPool.QueueUserWorkItem(Handle, i);
                Thread.Sleep(10);
            }
            return sum == 0 ? 1 : 0;
        }
    }
}
