// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.HttpChannelOverHttp;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnection;
import org.eclipse.jetty.server.HttpConnectionFactory;

/**
 * HTTP/1.1 with content in direct buffers, which an {@link ExsConnector} does not copy if its pool has made them. Jetty's own factory
 * uses heap buffers for connections other than TCP; it works as well, with copies.
 */
public class ExsHttpConnectionFactory extends HttpConnectionFactory {
  /** A file is sent in pieces of this size: they are still in the processor's cache when they are sent. */
  static final int OUTPUT_BYTES = 128 << 10;

  /** Uses Jetty's configuration, but longer output buffers. */
  public ExsHttpConnectionFactory() {
    this(newConfiguration());
  }

  /**
   * Uses the given configuration.
   *
   * @param configuration the configuration, whose output buffers should be long
   */
  public ExsHttpConnectionFactory(HttpConfiguration configuration) {
    super(configuration);
  }

  static HttpConfiguration newConfiguration() {
    final HttpConfiguration configuration = new HttpConfiguration();
    final int aggregated = configuration.getOutputAggregationSize();
    configuration.setOutputBufferSize(OUTPUT_BYTES);
    configuration.setOutputAggregationSize(aggregated);
    return configuration;
  }

  @Override
  public Connection newConnection(Connector connector, EndPoint endPoint) {
    final HttpConnection connection =
        new HttpConnection(getHttpConfiguration(), connector, endPoint, getHttpCompliance(), isRecordHttpComplianceViolations()) {
          @Override
          protected HttpChannelOverHttp newHttpChannel() {
            return new DirectChannel(this, getConnector(), getHttpConfiguration(), getEndPoint());
          }
        };
    return configure(connection, connector, endPoint);
  }

  private static final class DirectChannel extends HttpChannelOverHttp {
    DirectChannel(HttpConnection connection, Connector connector, HttpConfiguration configuration, EndPoint endPoint) {
      super(connection, connector, configuration, endPoint, connection);
    }

    @Override
    public boolean useDirectBuffers() {
      return true;
    }
  }
}
