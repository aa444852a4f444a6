// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.service.ServiceKey;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;

/** The server of the tests as a service, in a process of its own: it is to be killed. */
final class ServedWeb {
  private ServedWeb() {}

  /** Returns when it is there. */
  static Process start(Path files, Path key, String provider) throws IOException {
    final Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:-UsePerfData",
        "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.eclipse.jetty.LEVEL=WARN",
        "-Djava.library.path=" + System.getProperty("java.library.path"), "-cp", System.getProperty("java.class.path"),
        ServedWeb.class.getName(), files.toString(), key.toString(), provider).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    final String said = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
    if (!"there".equals(said)) throw new IOException("the server said " + said);
    return process;
  }

  public static void main(String[] arguments) throws Exception {
    final Web web = new Web(Path.of(arguments[0]), arguments[2]);
    web.server.addConnector(new ServiceConnector(web.server, ServiceKey.load(Path.of(arguments[1]))));
    web.start();
    System.out.println("there");
    System.in.read();
  }
}
