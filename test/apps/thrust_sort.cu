// Thrust: sort, reduce, transform on the device.
#include "app.h"
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>
#include <algorithm>
struct Square { __device__ long long operator()(int x) const { return (long long)x * x; } };
int main()
{
    std::vector<int> h(20000);
    uint32_t s = 4;
    for (auto &x : h)
        x = rnd(s);
    thrust::device_vector<int> d(h.begin(), h.end());
    thrust::sort(d.begin(), d.end());
    std::sort(h.begin(), h.end());
    std::vector<int> r(h.size());
    thrust::copy(d.begin(), d.end(), r.begin());
    EXPECT(r == h);
    thrust::device_vector<long long> q(d.size());
    thrust::transform(d.begin(), d.end(), q.begin(), Square());
    unsigned long long w = 0;
    for (int x : h)
        w += (long long)x * x;
    expect_bits("sum", 0, thrust::reduce(q.begin(), q.end(), 0ull), w);
    return app_end();
}
