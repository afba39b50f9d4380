/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c - arithmetic on big numbers by GMP, whose inner loops are assembly without any unwind
 * tables. Usage: numbers [SECONDS] */
#include <gmp.h>
#include <stdlib.h>
#include <time.h>

static __attribute__((noinline)) void turn(mpz_t x, const mpz_t odd, unsigned long power)
{
	mpz_t y;

	mpz_init(y);
	mpz_ui_pow_ui(y, 7, power);
	mpz_mul(x, x, y);
	mpz_tdiv_r(x, x, odd);
	mpz_powm_ui(x, x, 65537, odd);
	mpz_gcd(y, x, odd);
	mpz_add(x, x, y);
	mpz_clear(y);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);
	mpz_t x, odd;

	mpz_init_set_ui(x, 3);
	mpz_init(odd);
	mpz_ui_pow_ui(odd, 3, 1500);
	while (time(NULL) < end)
		for (unsigned long i = 0; i < 200; i++)
			turn(x, odd, 100 + i);
	return mpz_sgn(x) == 0;
}
