// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import java.io.IOException;

/** A client in a process of its own: asks for a file, reads the first byte of it, says so, and then does nothing for ever. */
final class Reader {
  private Reader() {}

  /** Port, provider, path. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    try (Http http = new Http(new ChannelSocket(Integer.parseInt(arguments[0]), arguments[1]))) {
      http.send("GET", arguments[2], -1);
      if (http.in.read() != 'H') throw new IOException("no answer");
      System.out.println("reading");
      Thread.currentThread().join();
    }
  }

  static Process start(int port, String provider, String path) throws IOException {
    final Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(), "-XX:-UsePerfData",
        "-Djava.library.path=" + System.getProperty("java.library.path"), "-cp", System.getProperty("java.class.path"),
        Reader.class.getName(), Integer.toString(port), provider, path).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    final String said = process.inputReader().readLine();
    if (!"reading".equals(said)) throw new IOException("the reader said " + said);
    return process;
  }
}
