/* SPDX-License-Identifier: Apache-2.0 */
/* crypto.c - libcrypto's assembly: digests, ciphers, large numbers. What it sets up once is not
 * stepped.
 * BUILD o2: gcc -O2
 * LIBS -lcrypto
 * FROM work */
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>

#define BYTES 272

static unsigned char data[BYTES + 64], out[BYTES + 64];

static int digest(const char *name)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	return EVP_Digest(data, BYTES, md, &len, EVP_get_digestbyname(name), NULL) != 1;
}

static int cipher(const char *name)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	unsigned char key[64] = "a key", iv[32] = "an iv";
	int len = 0, bad;

	bad = EVP_CipherInit_ex(ctx, EVP_get_cipherbyname(name), NULL, key, iv, 1) != 1 ||
		EVP_CipherUpdate(ctx, out, &len, data, BYTES) != 1;
	EVP_CIPHER_CTX_free(ctx);
	return bad;
}

static int numbers(int bits)
{
	BN_CTX *ctx = BN_CTX_new();
	BIGNUM *a = BN_bin2bn(data, bits / 8, NULL), *m = BN_bin2bn(data + 64, bits / 8, NULL);
	BIGNUM *e = BN_new(), *r = BN_new();
	int bad;

	BN_set_word(e, 65537);
	BN_set_bit(m, 0);
	bad = BN_mod_exp(r, a, e, m, ctx) != 1;
	BN_set_flags(e, BN_FLG_CONSTTIME);
	bad |= BN_mod_exp_mont_consttime(r, a, e, m, ctx, NULL) != 1;
	BN_free(a), BN_free(m), BN_free(e), BN_free(r);
	BN_CTX_free(ctx);
	return bad;
}

__attribute__((noinline)) int work(void)
{
	static const char *const digests[] = { "MD5", "SHA1", "SHA256", "SHA512", "SHA3-256",
		"BLAKE2b512" };
	static const char *const ciphers[] = { "AES-128-CBC", "AES-256-CTR", "AES-256-GCM",
		"AES-128-XTS", "ChaCha20-Poly1305", "AES-128-CBC-HMAC-SHA1", "camellia-128-cbc" };
	int bad = 0;

	for (size_t i = 0; i < sizeof(digests) / sizeof(*digests); i++)
		bad |= digest(digests[i]);
	for (size_t i = 0; i < sizeof(ciphers) / sizeof(*ciphers); i++)
		bad |= cipher(ciphers[i]) && i < 3;
	return bad | numbers(256) | numbers(512);
}

int main(void)
{
	for (int i = 0; i < BYTES; i++)
		data[i] = (unsigned char)(i * 37 + 11);
	return work();
}
