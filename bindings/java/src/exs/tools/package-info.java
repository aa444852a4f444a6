/** Benchmark programs. */
package exs.tools;
