/* SPDX-License-Identifier: Apache-2.0 */
/* Names of each scheme, names that are none, and names made to explode. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "sym/demangle.h"

static const struct {
	const char *name;
	const char *expected; /* NULL: stays */
} names[] = {
	{ "_Z3foov", "foo()" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		"std::vector<int, std::allocator<int> >::push_back(int const&)" },
	{ "_ZN3FooC1Ev", "Foo::Foo()" },
	{ "_ZNK3Foo3barEi", "Foo::bar(int) const" },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const" },
	{ "_Z3fooi.constprop.0", "foo(int) [clone .constprop.0]" },
	{ "_Z3fooi.part.0.cold", "foo(int) [clone .part.0] [clone .cold]" },
	{ "_Z3foov@plt", "foo()@plt" },
	{ "_GLOBAL__sub_I_foo", "_GLOBAL__sub_I_foo" },
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
	{ "_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h"
	  "a1b2c3d4e5f60718E",
		"<alloc::vec::Vec<T> as core::clone::Clone>::clone" },
	{ "_RNvCs4fqI2P2rA04_7mycrate3foo", "mycrate::foo" },
	{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
	{ "_D3std5stdio7writelnFAyaZv", "std.stdio.writeln(immutable(char)[])" },
	{ "_Dmain", "D main" },
	{ "main", NULL },
	{ "runtime.mallocgc", NULL },
	{ "_start", NULL },
	{ "__libc_start_main", NULL },
	{ "_Z", NULL },
	{ "_ZN", NULL },
	{ "_R", NULL },
	{ "_D", NULL },
	{ "_DYNAMIC", NULL },
	{ "_$s4main3fooyyF", NULL },
	{ "", NULL },
	{ "@plt", NULL },
	{ "_", NULL },
};

static void names_come_out_as_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(freep) char *text = demangle(names[i].name);
		const char *got = text ? text : names[i].name;

		print_message("%s\n", names[i].name);
		assert_string_equal(got, names[i].expected ? names[i].expected : names[i].name);
		assert_true(names[i].expected || !text);
	}
}

static void a_name_over_the_limit_stays(void **state)
{
	_cleanup_(buf_done) struct buf in = BUF_INIT;
	char *text;

	(void)state;
	assert_int_equal(buf_printf(&in, "_Z%d", DEMANGLE_IN_MAX - 7), 0);
	for (int i = 0; i < DEMANGLE_IN_MAX - 7; i++)
		assert_int_equal(buf_putc(&in, 'x'), 0);
	assert_int_equal(buf_puts(&in, "v"), 0);
	assert_int_equal(in.len, DEMANGLE_IN_MAX);
	text = demangle(in.data);
	assert_non_null(text);
	free(text);
	assert_int_equal(buf_puts(&in, "v"), 0);
	assert_null(demangle(in.data));
}

/* Each parameter is the one before it twice: 2^34 times the text. */
static void a_name_that_doubles_itself_is_given_up(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	_cleanup_(buf_done) struct buf in = BUF_INIT;
	char *text;

	(void)state;
	assert_int_equal(buf_puts(&in, "_Z3foo1pI1aE"), 0);
	for (int i = 1; i <= 34; i++) {
		assert_int_equal(buf_printf(&in, "S_IS%c_S%c_E", digits[i], digits[i]), 0);
		if (i != 2)
			continue;
		text = demangle(in.data);
		assert_string_equal(
			text, "foo(p<a>, p<p<a>, p<a> >, p<p<p<a>, p<a> >, p<p<a>, p<a> > >)");
		free(text);
	}
	assert_null(demangle(in.data));
}

static void any_cut_or_flipped_name_is_survived(void **state)
{
	(void)state;
	srand(2);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i].name);

		for (int round = 0; round < 300 && len > 3; round++) {
			char text[256];

			snprintf(text, sizeof(text), "%s", names[i].name);
			for (int flips = rand() % 3; flips >= 0; flips--)
				text[2 + (size_t)rand() % (len - 2)] = (char)(' ' + rand() % 95);
			if (rand() % 2)
				text[(size_t)rand() % len] = '\0';
			free(demangle(text));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_out_as_written),
		cmocka_unit_test(a_name_over_the_limit_stays),
		cmocka_unit_test(a_name_that_doubles_itself_is_given_up),
		cmocka_unit_test(any_cut_or_flipped_name_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
