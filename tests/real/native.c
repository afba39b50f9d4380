/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - the C of Native.java: works itself, then calls Java. */
#include <jni.h>

static volatile jlong sum;

static __attribute__((noinline)) void work(jlong turns)
{
	for (jlong i = 0; i < 300000 + turns; i++)
		sum += i;
}

static __attribute__((noinline)) jlong back(JNIEnv *env, jclass class, jlong turns)
{
	static jmethodID up;

	if (!up)
		up = (*env)->GetStaticMethodID(env, class, "up", "(J)J");
	return up ? (*env)->CallStaticLongMethod(env, class, up, turns) + 1 : 0;
}

JNIEXPORT jlong JNICALL Java_Native_down(JNIEnv *env, jclass class, jlong turns)
{
	work(turns);
	return back(env, class, turns) + 1;
}
