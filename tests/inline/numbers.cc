/* SPDX-License-Identifier: Apache-2.0 */
// numbers.cc - sorting with several orders, virtual functions, exceptions.
#include "tree.h"

#include <cmath>
#include <numeric>
#include <stdexcept>

namespace
{

class circle : public tree::shape
{
	double radius;

    public:
	explicit circle(double r) : radius(r)
	{
		if (r < 0)
			throw std::invalid_argument("radius");
	}

	double area() const override
	{
		return std::acos(-1.0) * radius * radius;
	}
};

class box : public tree::shape
{
	double width, height;

    public:
	box(double w, double h) : width(w), height(h)
	{
	}

	double area() const override
	{
		return width * height;
	}
};

struct pair_of {
	int first;
	double second;
};

template <int Step> double stride(const std::vector<double> &v)
{
	double total = 0;

	for (size_t i = 0; i < v.size(); i += Step)
		total += std::sqrt(v[i] + Step);
	return total;
}

}

std::unique_ptr<tree::shape> tree::make_shape(dice &d)
{
	if (d.below(2))
		return std::make_unique<circle>(d.below(100));
	return std::make_unique<box>(d.below(10), d.below(10));
}

uint64_t tree::numbers(dice &d, size_t n)
{
	std::vector<double> values(n);
	std::vector<pair_of> pairs;

	std::generate(values.begin(), values.end(), [&d] { return d.below(1000) * 0.25; });
	std::sort(values.begin(), values.end(), std::greater<double>());
	for (double v : values)
		pairs.push_back({ static_cast<int>(v) & 15, v });
	std::stable_sort(pairs.begin(), pairs.end(), [](const pair_of &a, const pair_of &b) {
		return a.first != b.first ? a.first < b.first : a.second > b.second;
	});
	double total = std::accumulate(values.begin(), values.end(), 0.0);

	for (const pair_of &p : pairs)
		total += p.first * std::fabs(p.second);
	total += stride<1>(values) + stride<3>(values);
	for (int i = 0; i < 4; i++)
		total += make_shape(d)->area();
	return static_cast<uint64_t>(total);
}
