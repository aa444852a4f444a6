/** Programs that measure. */
package exs.tools;
