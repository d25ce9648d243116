// SPDX-License-Identifier: MIT
// Stack switching for x86-64 System V. A suspended stack holds, from its stack pointer up: r15 r14 r13 r12 rbx rbp and the return
// address; the same layout serves fiber_raw_switch and frame_enter, so raw_leave continues either. A stack is
// continued by a jump: the processor would predict a return from the stack that was left.

    .text

// intptr_t fiber_raw_switch(void **save, void *to, intptr_t value)
    .globl fiber_raw_switch
    .hidden fiber_raw_switch
    .type fiber_raw_switch, @function
    .balign 16
fiber_raw_switch:
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    movq %rdx, %rax
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
    .size fiber_raw_switch, . - fiber_raw_switch

// void fiber_raw_leave(void *to, intptr_t value): to is a suspended stack pointer
    .globl fiber_raw_leave
    .hidden fiber_raw_leave
    .type fiber_raw_leave, @function
    .balign 16
fiber_raw_leave:
    endbr64
    movq %rdi, %rsp
    movq %rsi, %rax
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
    .size fiber_raw_leave, . - fiber_raw_leave

// intptr_t frame_enter(void **frame, void (*fn)(void *, void *), void *a, void *b)
    .globl frame_enter
    .hidden frame_enter
    .type frame_enter, @function
    .balign 16
frame_enter:
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    subq $8, %rsp
    movq %rsi, %rax
    movq %rdx, %rdi
    movq %rcx, %rsi
    callq *%rax
    addq $8, %rsp
    xorl %eax, %eax
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size frame_enter, . - frame_enter

// First code of a new fiber: r12 is the function to call with r13.
    .globl fiber_raw_entry
    .hidden fiber_raw_entry
    .type fiber_raw_entry, @function
    .balign 16
fiber_raw_entry:
    endbr64
    xorl %ebp, %ebp
    movq %r13, %rdi
    callq *%r12
    ud2
    .size fiber_raw_entry, . - fiber_raw_entry

    .section .note.GNU-stack, "", @progbits
