// SPDX-License-Identifier: BSD-2-Clause
package exs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** exs.jar in several class loaders of one JVM, as web applications of one server have them. */
@Timeout(60)
class ClassLoadersTest {
  private static URLClassLoader loader() {
    final URL archive = Memory.class.getProtectionDomain().getCodeSource().getLocation();
    return new URLClassLoader(new URL[] {archive}, ClassLoader.getPlatformClassLoader());
  }

  @Test
  void each_has_memory_of_its_own() throws Exception {
    Memory.allocate(64); // the loader of this test has the library
    for (int i = 0; i < 3; ++i) {
      try (URLClassLoader loader = loader()) {
        final Class<?> memory = Class.forName("exs.Memory", true, loader);
        assertNotSame(Memory.class, memory);
        final Object allocated = memory.getMethod("allocate", int.class).invoke(null, 4096);
        final ByteBuffer buffer = (ByteBuffer) memory.getMethod("buffer").invoke(allocated);
        assertEquals(4096, buffer.capacity());
        buffer.putInt(0, i);
        assertEquals(i, buffer.getInt(0));
      }
    }
  }

  @Test
  void what_is_missing_is_told_as_ever() {
    assertThrows(UnsatisfiedLinkError.class, () -> NativeLibrary.load(null, "exs-no-such-library"));
    assertThrows(UnsatisfiedLinkError.class, () -> NativeLibrary.load("/no/such/library.so", "exs-java"));
  }
}
