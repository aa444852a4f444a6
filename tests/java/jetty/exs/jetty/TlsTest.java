// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class TlsTest {
  private static final String PASSWORD = "no secret at all";

  @TempDir
  static Path files;

  @TempDir
  static Path keys;

  private static Path store;

  @BeforeAll
  static void makeKey() throws Exception {
    store = keys.resolve("store.p12");
    final String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    final Process making = new ProcessBuilder(List.of(keytool, "-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-alias", "here",
        "-dname", "CN=localhost", "-ext", "SAN=ip:127.0.0.1", "-keystore", store.toString(), "-storepass", PASSWORD)).inheritIO().start();
    assertEquals(0, making.waitFor());
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void all_is_as_in_the_open(String provider) throws Exception {
    try (Web web = new Web(files, provider)) {
      final ExsConnector secure = addSecure(web);
      web.start();
      try (Http tls = new Http(secured(web.socket(secure)))) {
        for (int round = 0; round < 2; ++round) {
          for (final String file : List.of("file-0", "file-1", "file-65536", "large")) {
            assertEquals(Web.sum(Files.readAllBytes(files.resolve(file))), Web.sum(tls.get("/" + file).body()), file);
          }
          final byte[] body = Web.bytes(5_000_000);
          assertEquals(Web.sum(body), tls.ask("POST", "/digest", body).text());
        }
      }
      Web.await(() -> secure.getConnectedEndPoints().isEmpty() && secure.getChunksInUse() == 0);
    }
  }

  private static ExsConnector addSecure(Web web) {
    final SslContextFactory.Server context = new SslContextFactory.Server();
    context.setKeyStorePath(store.toString());
    context.setKeyStorePassword(PASSWORD);
    final ExsConnector secure =
        new ExsConnector(web.server, new SslConnectionFactory(context, "http/1.1"), new HttpConnectionFactory());
    secure.setHost("127.0.0.1");
    web.server.addConnector(secure);
    return secure;
  }

  private static Socket secured(Socket socket) throws GeneralSecurityException, IOException {
    final TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray()));
    final SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context.getSocketFactory().createSocket(socket, "127.0.0.1", 443, true);
  }
}
