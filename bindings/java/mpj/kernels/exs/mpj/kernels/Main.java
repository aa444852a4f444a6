// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import java.util.Arrays;
import mpi.MPI;

/**
 * Runs one kernel on all ranks: {@code Main RANK CONF DEVICE cg|ft|is|mg|nbody|collectives|pingpong [--class S|W|A] [--json]}. The
 * launcher of the ranks supplies the first three arguments. Ends with 1 if the result is not the known one, with 2 for invalid arguments.
 */
public final class Main {
  private static final String HELP = """
      usage: exs-mpjrun -np RANKS --cp exs-mpj-kernels.jar \\
                        exs.mpj.kernels.Main KERNEL [--class S|W|A] [--json]
      Runs one kernel on all ranks: cg, ft, is, mg, nbody, collectives or pingpong.
      The exit status is 0, 1 if the result is wrong, or 2 if the arguments are invalid.
      """;

  private Main() {}

  public static void main(String[] args) {
    if (args.length > 0 && args[args.length - 1].equals("--help")) {
      if (args.length == 1 || args[0].equals("0")) System.out.print(HELP);
      return;
    }
    int status = 1;
    try {
      status = run(args);
    } catch (Throwable failure) {
      failure.printStackTrace();
    }
    // Otherwise threads of a device would keep the process of a failed rank alive.
    if (status != 0) Runtime.getRuntime().halt(status);
  }

  private static int run(String[] args) {
    String[] words = MPI.Init(args);
    Ranks ranks = new Ranks(MPI.COMM_WORLD);
    String mistake = null;
    Report report = null;
    try {
      report = kernel(words, ranks).run();
      report.put("device", args[2]);
    } catch (IllegalArgumentException wrong) {
      mistake = wrong.getMessage();  // an error of the arguments, which all ranks have seen
    }
    // This precedes any exit: the first of smpdev's ranks that ends with a failure ends them all.
    if (ranks.rank == 0) {
      if (mistake != null) System.err.println("kernels: " + mistake);
      else if (Arrays.asList(words).contains("--json")) System.out.println(report.json());
      else System.out.print(report.text());
      System.out.flush();
    }
    MPI.Finalize();
    if (mistake != null) return 2;
    return report.verified() ? 0 : 1;
  }

  private static Kernel kernel(String[] words, Ranks ranks) {
    String name = null;
    char size = 'S';
    for (int at = 0; at < words.length; ++at) {
      if (words[at].equals("--json")) continue;
      if (words[at].equals("--class") && at + 1 < words.length && words[at + 1].length() == 1) size = words[++at].charAt(0);
      else if (name == null && !words[at].startsWith("-")) name = words[at];
      else throw new IllegalArgumentException("what is " + words[at] + "?");
    }
    if (name == null) throw new IllegalArgumentException("which kernel: cg, ft, is, mg, nbody, collectives or pingpong?");
    if ("SWA".indexOf(size) < 0) throw new IllegalArgumentException("there is no class " + size + ", but S, W and A");
    switch (name) {
      case "cg": return new ConjugateGradient(size, ranks);
      case "ft": return new FourierTransform(size, ranks);
      case "is": return new IntegerSort(size, ranks);
      case "mg": return new MultiGrid(size, ranks);
      case "nbody": return new Bodies(size, ranks);
      case "collectives": return new Collectives(size, ranks);
      case "pingpong": return new PingPong(size, ranks);
      default: throw new IllegalArgumentException("there is no kernel " + name);
    }
  }
}
