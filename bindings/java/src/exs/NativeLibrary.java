// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Loads the native libraries of this archive: for the packages of exs alone.
 *
 * <p>The JVM gives a file of native code to one class loader only. A server has one for each web application, which may bring exs.jar
 * along. A loader that finds the file taken loads a copy of its own, which is removed at once: mapped code stays.
 */
public final class NativeLibrary {
  private NativeLibrary() {}

  /**
   * Loads a library for the class loader of the given class.
   *
   * @param path the file, or null: {@code name} is looked for in {@code java.library.path}
   * @param name as of {@link System#loadLibrary}
   * @throws UnsatisfiedLinkError if it cannot be loaded
   */
  public static void load(String path, String name) {
    try {
      if (path != null) {
        System.load(path);
      } else {
        System.loadLibrary(name);
      }
    } catch (UnsatisfiedLinkError error) {
      final Path file = path != null ? Path.of(path) : find(name);
      if (file == null || !isTaken(error)) throw error;
      loadCopy(file, error);
    }
  }

  /** The JVM has no other sign of this than these words. */
  private static boolean isTaken(UnsatisfiedLinkError error) {
    final String words = error.getMessage();
    return words != null && words.contains("already loaded in another classloader");
  }

  private static Path find(String name) {
    final String file = System.mapLibraryName(name);
    for (final String folder : System.getProperty("java.library.path", "").split(File.pathSeparator)) {
      final Path path = Path.of(folder.isEmpty() ? "." : folder, file);
      if (Files.isReadable(path)) return path.toAbsolutePath();
    }
    return null;
  }

  /** createTempFile makes a file that only this user may read and write. */
  private static void loadCopy(Path file, UnsatisfiedLinkError taken) {
    Path copy = null;
    try {
      copy = Files.createTempFile("exs-java", ".so");
      try (OutputStream out = Files.newOutputStream(copy)) {
        Files.copy(file, out);
      }
      System.load(copy.toString());
    } catch (IOException | UnsatisfiedLinkError error) {
      final UnsatisfiedLinkError told =
          new UnsatisfiedLinkError(
              file
                  + " belongs to another class loader, and no copy of it can be loaded from "
                  + System.getProperty("java.io.tmpdir")
                  + ": "
                  + error.getMessage()
                  + "; name another folder by -Djava.io.tmpdir, whose file system is not mounted noexec, or let the class loaders"
                  + " share one that has exs.jar");
      told.initCause(error);
      told.addSuppressed(taken);
      throw told;
    } finally {
      delete(copy);
    }
  }

  private static void delete(Path copy) {
    try {
      if (copy != null) Files.deleteIfExists(copy);
    } catch (IOException ignored) {
      copy.toFile().deleteOnExit();
    }
  }
}
