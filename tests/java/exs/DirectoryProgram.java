// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A directory of services, and others who have keys of services and claim them there, in processes of their own. */
public final class DirectoryProgram implements AutoCloseable {
  private final Process process;
  private final String address;
  private final List<Process> rivals = new ArrayList<>();

  /**
   * Returns when it listens.
   *
   * @param file where it keeps what it knows
   */
  public DirectoryProgram(Path file) throws IOException {
    process = start(System.getProperty("exs.directory"), "--bind", "127.0.0.1", "--port", "0", "--file", file.toString());
    final String said = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
    if (said == null || !said.startsWith("port ")) throw new IOException("the directory said " + said);
    address = "127.0.0.1:" + said.substring("port ".length());
  }

  public String address() {
    return address;
  }

  /** From now on it answers nobody. */
  public void pause() throws IOException, InterruptedException {
    signal("STOP");
  }

  public void resume() throws IOException, InterruptedException {
    signal("CONT");
  }

  private void signal(String name) throws IOException, InterruptedException {
    if (start("sh", "-c", "kill -" + name + ' ' + process.pid()).waitFor() != 0) throw new IOException("kill has failed");
  }

  /** Somebody else is the service of a key, by a newer record. */
  public void overtake(Path key, String... how) throws IOException {
    final List<String> command = new ArrayList<>(List.of(System.getProperty("exs.rival"), key.toString(), address));
    command.addAll(List.of(how));
    rivals.add(start(command.toArray(new String[0])));
  }

  /** Those others are gone. */
  public void endRivals() {
    for (final Process rival : rivals) end(rival);
    rivals.clear();
  }

  private static Process start(String... command) throws IOException {
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  private static void end(Process process) {
    process.destroyForcibly().onExit().join();
  }

  @Override
  public void close() {
    endRivals();
    end(process);
  }
}
