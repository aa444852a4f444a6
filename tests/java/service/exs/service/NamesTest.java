// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import exs.ExsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Instant;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class NamesTest {
  private static final int ENOENT = 2;
  private static final int EEXIST = 17;
  private static final int EINVAL = 22;
  private static final int EPROTO = 71;

  @TempDir
  Path folder;

  @Test
  void a_key_is_the_same_from_its_file() throws Exception {
    final Path file = folder.resolve("key");
    try (ServiceKey key = ServiceKey.create(); ServiceKey other = ServiceKey.create()) {
      key.store(file);
      assertEquals(Set.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE), Files.getPosixFilePermissions(file));
      try (ServiceKey loaded = ServiceKey.load(file)) {
        assertEquals(key.id(), loaded.id());
        assertEquals(key.id().hashCode(), loaded.id().hashCode());
      }
      assertNotEquals(key.id(), other.id());
      assertErrno(EEXIST, () -> other.store(file));
    }
    Files.write(file, new byte[10]);
    assertErrno(EPROTO, () -> ServiceKey.load(file));
    assertErrno(ENOENT, () -> ServiceKey.load(folder.resolve("none")));
  }

  @Test
  void a_closed_key_is_refused() throws Exception {
    final ServiceKey key = ServiceKey.create();
    key.close();
    key.close();
    assertErrno(ExsException.EBADF, key::id);
    assertErrno(ExsException.EBADF, () -> key.store(folder.resolve("closed")));
  }

  @Test
  void an_id_is_read_from_text_and_from_a_file_of_names() throws Exception {
    final ServiceId id = ServiceKey.create().id();
    assertTrue(id.toString().matches("exs:[0-9a-f]{32}"), id.toString());
    assertEquals(id, ServiceId.parse(id.toString()));
    assertErrno(EINVAL, () -> ServiceId.parse("exs:12"));
    final Path names = folder.resolve("names");
    Files.writeString(names, "printer " + id + "\n");
    assertEquals(id, ServiceId.find(names.toString(), "printer"));
    assertErrno(ENOENT, () -> ServiceId.find(names.toString(), "plotter"));
  }

  @Test
  void a_capability_is_the_same_from_its_text() throws Exception {
    try (ServiceKey key = ServiceKey.create()) {
      final Capability made = Capability.make(key, EnumSet.of(Right.REQUEST, Right.LONG), 3, Instant.now().plusSeconds(60));
      final Capability parsed = Capability.parse(made.text());
      assertEquals(key.id(), parsed.id());
      assertEquals(made.text(), parsed.text());
      assertErrno(EINVAL, () -> Capability.parse("exs-cap:00"));
      assertErrno(EINVAL, () -> Capability.make(key, Set.of(), 0, null));
    }
  }

  private interface Body {
    Object run() throws Exception;
  }

  private interface VoidBody {
    void run() throws Exception;
  }

  private static void assertErrno(int errno, VoidBody body) {
    assertEquals(errno, assertThrows(ExsException.class, body::run).errno());
  }

  private static void assertErrno(int errno, Body body) {
    assertEquals(errno, assertThrows(ExsException.class, body::run).errno());
  }
}
