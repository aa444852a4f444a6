/** Benchmark programs. */
/* SPDX-License-Identifier: BSD-2-Clause */
package exs.tools;
