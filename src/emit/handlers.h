// SPDX-License-Identifier: MIT
// Prototypes of the handlers: one function an opcode, listed by dispatch.c.
#ifndef EMIT_HANDLERS_H
#define EMIT_HANDLERS_H

#include "emit/internal.h"

// ---- arithmetic: integer.c bits.c float.c half.c convert.c compare.c --------------------------
bool emit_add(struct emitter *e, const struct ptx_inst *i);
bool emit_sub(struct emitter *e, const struct ptx_inst *i);
bool emit_mul(struct emitter *e, const struct ptx_inst *i);
bool emit_mad(struct emitter *e, const struct ptx_inst *i);
bool emit_fma(struct emitter *e, const struct ptx_inst *i);
bool emit_mul24(struct emitter *e, const struct ptx_inst *i);
bool emit_mad24(struct emitter *e, const struct ptx_inst *i);
bool emit_sad(struct emitter *e, const struct ptx_inst *i);
bool emit_div(struct emitter *e, const struct ptx_inst *i);
bool emit_rem(struct emitter *e, const struct ptx_inst *i);
bool emit_abs(struct emitter *e, const struct ptx_inst *i);
bool emit_neg(struct emitter *e, const struct ptx_inst *i);
bool emit_min(struct emitter *e, const struct ptx_inst *i);
bool emit_max(struct emitter *e, const struct ptx_inst *i);
bool emit_addc(struct emitter *e, const struct ptx_inst *i);
bool emit_subc(struct emitter *e, const struct ptx_inst *i);
bool emit_madc(struct emitter *e, const struct ptx_inst *i);
bool emit_rcp(struct emitter *e, const struct ptx_inst *i);
bool emit_sqrt(struct emitter *e, const struct ptx_inst *i);
bool emit_rsqrt(struct emitter *e, const struct ptx_inst *i);
bool emit_sin(struct emitter *e, const struct ptx_inst *i);
bool emit_cos(struct emitter *e, const struct ptx_inst *i);
bool emit_lg2(struct emitter *e, const struct ptx_inst *i);
bool emit_ex2(struct emitter *e, const struct ptx_inst *i);
bool emit_tanh(struct emitter *e, const struct ptx_inst *i);
bool emit_testp(struct emitter *e, const struct ptx_inst *i);
bool emit_copysign(struct emitter *e, const struct ptx_inst *i);
bool emit_and(struct emitter *e, const struct ptx_inst *i);
bool emit_or(struct emitter *e, const struct ptx_inst *i);
bool emit_xor(struct emitter *e, const struct ptx_inst *i);
bool emit_not(struct emitter *e, const struct ptx_inst *i);
bool emit_cnot(struct emitter *e, const struct ptx_inst *i);
bool emit_shl(struct emitter *e, const struct ptx_inst *i);
bool emit_shr(struct emitter *e, const struct ptx_inst *i);
bool emit_shf(struct emitter *e, const struct ptx_inst *i);
bool emit_lop3(struct emitter *e, const struct ptx_inst *i);
bool emit_prmt(struct emitter *e, const struct ptx_inst *i);
bool emit_popc(struct emitter *e, const struct ptx_inst *i);
bool emit_clz(struct emitter *e, const struct ptx_inst *i);
bool emit_brev(struct emitter *e, const struct ptx_inst *i);
bool emit_bfind(struct emitter *e, const struct ptx_inst *i);
bool emit_fns(struct emitter *e, const struct ptx_inst *i);
bool emit_bfe(struct emitter *e, const struct ptx_inst *i);
bool emit_bfi(struct emitter *e, const struct ptx_inst *i);
bool emit_bmsk(struct emitter *e, const struct ptx_inst *i);
bool emit_szext(struct emitter *e, const struct ptx_inst *i);
bool emit_dp4a(struct emitter *e, const struct ptx_inst *i);
bool emit_dp2a(struct emitter *e, const struct ptx_inst *i);
bool emit_set(struct emitter *e, const struct ptx_inst *i);
bool emit_setp(struct emitter *e, const struct ptx_inst *i);
bool emit_selp(struct emitter *e, const struct ptx_inst *i);
bool emit_slct(struct emitter *e, const struct ptx_inst *i);
bool emit_cvt(struct emitter *e, const struct ptx_inst *i);
bool emit_cvt_pack(struct emitter *e, const struct ptx_inst *i);

// ---- video.c video_simd.c -----------------------------------------------------------------------
bool emit_vadd(struct emitter *e, const struct ptx_inst *i);
bool emit_vsub(struct emitter *e, const struct ptx_inst *i);
bool emit_vabsdiff(struct emitter *e, const struct ptx_inst *i);
bool emit_vmin(struct emitter *e, const struct ptx_inst *i);
bool emit_vmax(struct emitter *e, const struct ptx_inst *i);
bool emit_vshl(struct emitter *e, const struct ptx_inst *i);
bool emit_vshr(struct emitter *e, const struct ptx_inst *i);
bool emit_vset(struct emitter *e, const struct ptx_inst *i);
bool emit_vmad(struct emitter *e, const struct ptx_inst *i);
bool emit_vadd2(struct emitter *e, const struct ptx_inst *i);
bool emit_vsub2(struct emitter *e, const struct ptx_inst *i);
bool emit_vavrg2(struct emitter *e, const struct ptx_inst *i);
bool emit_vabsdiff2(struct emitter *e, const struct ptx_inst *i);
bool emit_vmin2(struct emitter *e, const struct ptx_inst *i);
bool emit_vmax2(struct emitter *e, const struct ptx_inst *i);
bool emit_vset2(struct emitter *e, const struct ptx_inst *i);
bool emit_vadd4(struct emitter *e, const struct ptx_inst *i);
bool emit_vsub4(struct emitter *e, const struct ptx_inst *i);
bool emit_vavrg4(struct emitter *e, const struct ptx_inst *i);
bool emit_vabsdiff4(struct emitter *e, const struct ptx_inst *i);
bool emit_vmin4(struct emitter *e, const struct ptx_inst *i);
bool emit_vmax4(struct emitter *e, const struct ptx_inst *i);
bool emit_vset4(struct emitter *e, const struct ptx_inst *i);

// ---- memory: memory.c mov.c atomic.c fence.c ---------------------------------------------
bool emit_ld(struct emitter *e, const struct ptx_inst *i);
bool emit_st(struct emitter *e, const struct ptx_inst *i);
bool emit_mov(struct emitter *e, const struct ptx_inst *i);
bool emit_cvta(struct emitter *e, const struct ptx_inst *i);
bool emit_isspacep(struct emitter *e, const struct ptx_inst *i);
bool emit_prefetch(struct emitter *e, const struct ptx_inst *i);
bool emit_nothing(struct emitter *e, const struct ptx_inst *i);
bool emit_createpolicy(struct emitter *e, const struct ptx_inst *i);
bool emit_atom(struct emitter *e, const struct ptx_inst *i);
bool emit_red(struct emitter *e, const struct ptx_inst *i);
bool emit_membar(struct emitter *e, const struct ptx_inst *i);
bool emit_fence(struct emitter *e, const struct ptx_inst *i);

// ---- asynchronous copies and clusters: async.c tensor.c mbarrier.c cluster.c ---------------------
bool emit_cp_async(struct emitter *e, const struct ptx_inst *i);
bool emit_cp_async_bulk(struct emitter *e, const struct ptx_inst *i);
bool emit_cp_reduce(struct emitter *e, const struct ptx_inst *i);
bool emit_st_bulk(struct emitter *e, const struct ptx_inst *i);
bool emit_tensormap_replace(struct emitter *e, const struct ptx_inst *i);
bool emit_tensormap_cp_fenceproxy(struct emitter *e, const struct ptx_inst *i);
bool emit_mbarrier(struct emitter *e, const struct ptx_inst *i);
bool emit_barrier_cluster(struct emitter *e, const struct ptx_inst *i);
bool emit_mapa(struct emitter *e, const struct ptx_inst *i);
bool emit_getctarank(struct emitter *e, const struct ptx_inst *i);
bool emit_st_async(struct emitter *e, const struct ptx_inst *i);
bool emit_red_async(struct emitter *e, const struct ptx_inst *i);
bool emit_try_cancel(struct emitter *e, const struct ptx_inst *i);
bool emit_query_cancel(struct emitter *e, const struct ptx_inst *i);

// ---- control flow: control.c call.c ------------------------------------------------------------
bool emit_bra(struct emitter *e, const struct ptx_inst *i);
bool emit_brx(struct emitter *e, const struct ptx_inst *i);
bool emit_call(struct emitter *e, const struct ptx_inst *i);
bool emit_ret(struct emitter *e, const struct ptx_inst *i);
bool emit_exit(struct emitter *e, const struct ptx_inst *i);
bool emit_trap(struct emitter *e, const struct ptx_inst *i);
bool emit_brkpt(struct emitter *e, const struct ptx_inst *i);
bool emit_nanosleep(struct emitter *e, const struct ptx_inst *i);
bool emit_alloca(struct emitter *e, const struct ptx_inst *i);
bool emit_stacksave(struct emitter *e, const struct ptx_inst *i);
bool emit_stackrestore(struct emitter *e, const struct ptx_inst *i);

// ---- warp and block: warp.c --------------------------------------------------------------------
bool emit_shfl(struct emitter *e, const struct ptx_inst *i);
bool emit_vote(struct emitter *e, const struct ptx_inst *i);
bool emit_match(struct emitter *e, const struct ptx_inst *i);
bool emit_redux(struct emitter *e, const struct ptx_inst *i);
bool emit_activemask(struct emitter *e, const struct ptx_inst *i);
bool emit_elect(struct emitter *e, const struct ptx_inst *i);
bool emit_barrier(struct emitter *e, const struct ptx_inst *i);
bool emit_bar_warp(struct emitter *e, const struct ptx_inst *i);

// ---- matrices: matrix.c matrix_memory.c matrix_group.c ------------------------------------------
bool emit_ldmatrix(struct emitter *e, const struct ptx_inst *i);
bool emit_stmatrix(struct emitter *e, const struct ptx_inst *i);
bool emit_movmatrix(struct emitter *e, const struct ptx_inst *i);
bool emit_wmma_load(struct emitter *e, const struct ptx_inst *i);
bool emit_wmma_store(struct emitter *e, const struct ptx_inst *i);
bool emit_wmma_mma(struct emitter *e, const struct ptx_inst *i);
bool emit_mma(struct emitter *e, const struct ptx_inst *i);
bool emit_wgmma(struct emitter *e, const struct ptx_inst *i);

#endif
