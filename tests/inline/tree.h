/* SPDX-License-Identifier: Apache-2.0 */
// tree.h - templates and small functions that every caller inlines: each file that includes it has
// instances of its own, and what they call is inlined several levels deep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tree
{

template <typename T> struct node {
	T value;
	std::unique_ptr<node> left, right;

	explicit node(T v) : value(std::move(v))
	{
	}
};

template <typename T, typename Less = std::less<T>> class set
{
	std::unique_ptr<node<T>> root;
	Less less;
	size_t len = 0;

	template <typename Visit> void walk(const node<T> *at, Visit &&visit) const
	{
		if (!at)
			return;
		walk(at->left.get(), visit);
		visit(at->value);
		walk(at->right.get(), visit);
	}

      public:
	bool add(T value)
	{
		std::unique_ptr<node<T>> *slot = &root;

		while (*slot) {
			if (less(value, (*slot)->value))
				slot = &(*slot)->left;
			else if (less((*slot)->value, value))
				slot = &(*slot)->right;
			else
				return false;
		}
		*slot = std::make_unique<node<T>>(std::move(value));
		len++;
		return true;
	}

	template <typename Visit> void each(Visit &&visit) const
	{
		walk(root.get(), std::forward<Visit>(visit));
	}

	size_t size() const
	{
		return len;
	}
};

inline uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352d;
	x ^= x >> 15;
	return x * 0x846ca68b;
}

struct dice {
	uint32_t state;

	uint32_t roll()
	{
		return state = mix(state + 0x9e3779b9);
	}

	uint32_t below(uint32_t n)
	{
		return n ? roll() % n : 0;
	}
};

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};

uint64_t words(dice &d, size_t n);
uint64_t numbers(dice &d, size_t n);
std::unique_ptr<shape> make_shape(dice &d);
extern "C" uint64_t plain(uint64_t seed, int rounds);

} // namespace tree
