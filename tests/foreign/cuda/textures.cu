// Texture and surface objects: every geometry, levels, gathers, queries, and writes with each way out of bounds.
extern "C" __global__ void fetch(cudaTextureObject_t t, float4 *y, float x) {
    y[0] = tex1D<float4>(t, x);
    y[1] = tex1Dfetch<float4>(t, (int)x);
    y[2] = tex2D<float4>(t, x, 0.5f);
    y[3] = tex3D<float4>(t, x, 0.25f, 0.5f);
    y[4] = tex1DLayered<float4>(t, x, 3);
    y[5] = tex2DLayered<float4>(t, x, 0.5f, 2);
    y[6] = texCubemap<float4>(t, x, 0.0f, 1.0f);
    y[7] = tex2DLod<float4>(t, x, 0.5f, 1.0f);
    y[8] = tex2DGrad<float4>(t, x, 0.5f, make_float2(0.1f, 0.2f), make_float2(0.3f, 0.4f));
    y[9] = tex2Dgather<float4>(t, x, 0.5f, 2);
}

extern "C" __global__ void fetch_integers(cudaTextureObject_t t, int2 *y, unsigned char *z) {
    y[0] = tex2D<int2>(t, 1.0f, 2.0f);
    y[1] = tex3DLod<int2>(t, 1.0f, 2.0f, 3.0f, 0.0f);
    z[0] = tex1D<unsigned char>(t, 1.0f);
}

extern "C" __global__ void write(cudaSurfaceObject_t s, cudaSurfaceObject_t layered, int *y) {
    int i = threadIdx.x;
    surf1Dwrite(i, s, 4 * i);
    surf2Dwrite(make_float2(1.0f, 2.0f), s, 8 * i, 1, cudaBoundaryModeClamp);
    surf3Dwrite((short)i, s, 2 * i, 1, 2, cudaBoundaryModeZero);
    surf2DLayeredwrite(make_int4(1, 2, 3, i), layered, 16 * i, 1, 2);
    y[0] = surf1Dread<int>(s, 4 * i);
    y[1] = surf2Dread<int2>(s, 8 * i, 1, cudaBoundaryModeZero).y;
    y[2] = surf3Dread<short>(s, 2 * i, 1, 2, cudaBoundaryModeClamp);
}
