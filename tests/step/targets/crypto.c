/* SPDX-License-Identifier: Apache-2.0 */
/* crypto.c - libcrypto's assembly: digests, ciphers, large numbers. What it sets up once is not
 * stepped, and its end, a million instructions of C that take that down, by `long` alone.
 * BUILD o2: gcc -O2 -DBITS_MAX=256
 * BUILD long: gcc -O2 -DBITS_MAX=2048 -DEND=exit
 * LIBS -lcrypto
 * FROM work */
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 272
#ifndef END
#define END _exit
#endif

static unsigned char data[BYTES + 64], out[BYTES + 64];

/* Finding an algorithm takes millions of instructions, so that is done before. */
static const char *const digest_names[] = { "MD5", "SHA1", "SHA256", "SHA512", "SHA3-256",
	"BLAKE2b512" };
static const char *const cipher_names[] = { "AES-128-CBC", "AES-256-CTR", "AES-256-GCM",
	"AES-128-XTS", "ChaCha20-Poly1305", "camellia-128-cbc" };

#define DIGESTS (sizeof(digest_names) / sizeof(*digest_names))
#define CIPHERS (sizeof(cipher_names) / sizeof(*cipher_names))

static EVP_MD *digests[DIGESTS];
static EVP_CIPHER *ciphers[CIPHERS];
static EVP_CIPHER_CTX *contexts[CIPHERS];

static int digest(const EVP_MD *kind)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	return kind && EVP_Digest(data, BYTES, md, &len, kind, NULL) != 1;
}

static int cipher(EVP_CIPHER_CTX *ctx)
{
	int len = 0;

	return ctx && EVP_CipherUpdate(ctx, out, &len, data, BYTES) != 1;
}

static int find_algorithms(void)
{
	static const unsigned char key[64] = "a key", iv[32] = "an iv";
	int found = 0;

	for (size_t i = 0; i < DIGESTS; i++) {
		digests[i] = EVP_MD_fetch(NULL, digest_names[i], NULL);
		found += digests[i] != NULL;
	}
	for (size_t i = 0; i < CIPHERS; i++) {
		ciphers[i] = EVP_CIPHER_fetch(NULL, cipher_names[i], NULL);
		contexts[i] = ciphers[i] ? EVP_CIPHER_CTX_new() : NULL;
		if (contexts[i] &&
			EVP_CipherInit_ex(contexts[i], ciphers[i], NULL, key, iv, 1) != 1)
			contexts[i] = NULL;
		found += contexts[i] != NULL;
	}
	return found;
}

static int numbers(int bits)
{
	BN_CTX *ctx = BN_CTX_new();
	BIGNUM *a = BN_bin2bn(data, bits / 8, NULL), *m = BN_bin2bn(data + 64, bits / 8, NULL);
	BIGNUM *e = BN_new(), *r = BN_new();
	int bad;

	BN_set_word(e, 17);
	BN_set_bit(m, 0);
	bad = BN_mod_exp(r, a, e, m, ctx) != 1;
	BN_set_word(e, 5);
	bad |= BN_mod_exp_mont_consttime(r, a, e, m, ctx, NULL) != 1;
	BN_free(a), BN_free(m), BN_free(e), BN_free(r);
	BN_CTX_free(ctx);
	return bad;
}

__attribute__((noinline)) int work(void)
{
	int bad = 0;

	for (size_t i = 0; i < DIGESTS; i++)
		bad |= digest(digests[i]);
	for (size_t i = 0; i < CIPHERS; i++)
		bad |= cipher(contexts[i]);
	for (int bits = 256; bits <= BITS_MAX; bits *= 2)
		bad |= numbers(bits);
	return bad;
}

int main(void)
{
	for (int i = 0; i < BYTES + 64; i++)
		data[i] = (unsigned char)(i * 37 + 11);
	if (find_algorithms() < 6)
		return 2;
	END(work());
}
