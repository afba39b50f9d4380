# SPDX-License-Identifier: Apache-2.0
# busy.pl [SECONDS] - a busy Perl program: regular expressions, hashes, sorting with a block,
# recursion, string building, eval and die.
use strict;
use warnings;

sub fib { my $n = shift; return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }

sub descend { my $depth = shift; return $depth ? 1 + descend($depth - 1) : fib(8); }

sub day {
	my $turn = shift;
	my $text = join ' ', map { 'word-' . $_ * 7919 % 1009 } 1 .. 2000;
	my %known;
	no warnings 'recursion';
	$known{$2 . $1}++ while $text =~ /([a-z]+)-(\d+)/g;
	my @ranked = sort { $known{$a} <=> $known{$b} || $a cmp $b } keys %known;
	(my $other = $text) =~ s/(\d)(\d)/$2$1/g;
	eval { die { turn => $turn } if $turn % 2; };
	return scalar(@ranked) + length($other) + fib(12) + descend(90);
}

my $end = time + ($ARGV[0] // 60);
my $turn = 0;
$turn += day($turn) while time < $end;
