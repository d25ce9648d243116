// Tiled n-body step in shared memory against the plain sum in double precision.
#include "app.h"
__global__ void step(const float4 *p, float3 *a, int n)
{
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 me = p[i];
    float3 f = {0, 0, 0};
    for (int t = 0; t < n; t += 64) {
        tile[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 64; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = tile[j].w * inv * inv * inv;
            f.x += s * dx, f.y += s * dy, f.z += s * dz;
        }
        __syncthreads();
    }
    a[i] = f;
}
int main()
{
    const int n = 256;
    std::vector<float4> p(n);
    uint32_t s = 11;
    auto u = [&] { return rnd(s) / 4294967296.f; };
    for (auto &q : p)
        q = make_float4(u(), u(), u(), u());
    float3 *a = device_new<float3>(n);
    step<<<n / 64, 64>>>(to_device(p), a, n);
    auto r = to_host(a, n);
    for (int i = 0; i < n; i++) {
        double x = 0, y = 0, z = 0, m = 0;
        for (int j = 0; j < n; j++) {
            double dx = p[j].x - p[i].x, dy = p[j].y - p[i].y, dz = p[j].z - p[i].z, d = dx * dx + dy * dy + dz * dz + (double)0.01f;
            double k = p[j].w / (d * sqrt(d));
            x += k * dx, y += k * dy, z += k * dz, m += k;
        }
        expect_near("x", i, r[i].x, x, 1e-5 * m), expect_near("y", i, r[i].y, y, 1e-5 * m), expect_near("z", i, r[i].z, z, 1e-5 * m);
    }
    return app_end();
}
